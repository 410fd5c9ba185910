import { Random } from "./random.ts";

/** `HEADGATE_SEED` starts elsewhere; `HEADGATE_HISTORY` runs one history alone. */
const SEED = Number(process.env["HEADGATE_SEED"] ?? 20_261_120);
const ONLY_HISTORY = process.env["HEADGATE_HISTORY"];

/** Whether all histories run, so that their total number of operations can be checked. */
export const runsAllHistories: boolean = ONLY_HISTORY === undefined;

/** `HEADGATE_LONG=1` runs 25 times as many. */
export const SCALE: number = process.env["HEADGATE_LONG"] === "1" ? 25 : 1;

/** The scale of slow suites, whose expected counts follow it: half, so that a commit is tested soon. */
export const SHARE: number = SCALE > 1 ? SCALE : 0.5;

/** The number of histories: `count`, or `long` in the long run, by default 25 times as many. */
export function historiesOf(count: number, long: number = SCALE * count): number {
  return SCALE > 1 ? long : count;
}

/** Runs `count` histories, each on random numbers of its own, `lanes` at once. A failure names its seed and history. */
export async function runHistories(
  count: number,
  run: (random: Random, history: number) => Promise<void>,
  lanes = 1,
): Promise<void> {
  let next = ONLY_HISTORY === undefined ? 0 : Number(ONLY_HISTORY);
  const end = ONLY_HISTORY === undefined ? count : next + 1;

  async function lane(): Promise<void> {
    while (next < end) {
      const history = next++;
      try {
        await run(new Random(SEED, history), history);
      } catch (cause) {
        next = end;
        const replay = `HEADGATE_SEED=${SEED} HEADGATE_HISTORY=${history}`;
        throw new Error(`${replay}: ${cause instanceof Error ? cause.message : cause}`, { cause });
      }
    }
  }

  await Promise.all(Array.from({ length: lanes }, lane));
}
