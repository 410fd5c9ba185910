import { expect } from "vitest";

export const IS_LONG: boolean = process.env["HEADGATE_LONG"] === "1";

/** The number of clients: a million with `HEADGATE_LONG=1`, otherwise a tenth of that. */
export const CROWD: number = IS_LONG ? 1_000_000 : 100_000;

/** Names like invented tokens, short enough that a key contains them in full. */
const clientName = (i: number): string => `client-${i.toString(36).padStart(12, "0")}`;

/** The result of the calls of a crowd. */
export interface Passage {
  readonly admitted: number;
  readonly microsecondsEach: number;
}

/** Makes one call for each of the clients `from` to `to`, `inFlight` at once. */
export async function passCrowd(
  consume: (client: string) => Promise<{ readonly allowed: boolean }>,
  { from = 0, to = CROWD, inFlight = 1_000 } = {},
): Promise<Passage> {
  const started = performance.now();
  let admitted = 0;
  for (let i = from; i < to; i += inFlight) {
    const decisions = Array.from({ length: Math.min(inFlight, to - i) }, (_, j) => {
      return consume(clientName(i + j));
    });
    for (const { allowed } of await Promise.all(decisions)) if (allowed) admitted += 1;
  }
  return { admitted, microsecondsEach: ((performance.now() - started) * 1_000) / (to - from) };
}

/** Polls until `holds` resolves with true; fails after `timeoutMs`. */
export async function eventually(holds: () => Promise<boolean>, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await holds())) {
    expect(performance.now(), `did not happen within ${timeoutMs} ms`).toBeLessThan(deadline);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
