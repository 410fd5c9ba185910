import { expect } from "vitest";

export const IS_LONG: boolean = process.env["HEADGATE_LONG"] === "1";

/** How many clients come: a million with `HEADGATE_LONG=1`, a tenth of it in the normal run. */
export const CROWD: number = IS_LONG ? 1_000_000 : 100_000;

/** What somebody who invents clients would invent: of the length of a token, so that a key holds all of it. */
const clientName = (i: number): string => `client-${i.toString(36).padStart(12, "0")}`;

/** What a crowd took. */
export interface Passage {
  readonly admitted: number;
  readonly microsecondsEach: number;
}

/** Lets clients `from` to `to` ask once each, `inFlight` at once. */
export async function passCrowd(
  ask: (client: string) => Promise<{ readonly allowed: boolean }>,
  { from = 0, to = CROWD, inFlight = 1_000 } = {},
): Promise<Passage> {
  const started = performance.now();
  let admitted = 0;
  for (let i = from; i < to; i += inFlight) {
    const asking = Array.from({ length: Math.min(inFlight, to - i) }, (_, j) => {
      return ask(clientName(i + j));
    });
    for (const { allowed } of await Promise.all(asking)) if (allowed) admitted += 1;
  }
  return { admitted, microsecondsEach: ((performance.now() - started) * 1_000) / (to - from) };
}

/** Waits until `holds` does, looking again and again; fails after `timeoutMs`. */
export async function eventually(holds: () => Promise<boolean>, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await holds())) {
    expect(performance.now(), `did not happen within ${timeoutMs} ms`).toBeLessThan(deadline);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
