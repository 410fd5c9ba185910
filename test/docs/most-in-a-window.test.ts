import type { Limit } from "@headgate/core";
import * as core from "@headgate/core";
import { expect, test } from "vitest";
import { mostInAnyWindow } from "../../docs/.vitepress/playground/most-in-a-window.ts";
import { page, tablesOf } from "./markdown.ts";

const MINUTE = 60_000;

/** The most requests that a client got admitted in any minute, each tried at the given times, which ascend. */
async function peakOf(limits: Limit, times: Iterable<number>): Promise<number> {
  let now = 0;
  const store = core.memoryStore({ clock: () => now });
  const limiter = core.createLimiter({ name: "peak", limits, store });
  const admitted: number[] = [];
  let peak = 0;
  for (now of times) {
    if ((await limiter.consume("client")).allowed) admitted.push(now);
    while ((admitted[0] as number) <= now - MINUTE) admitted.shift();
    peak = Math.max(peak, admitted.length);
  }
  await limiter.close();
  return peak;
}

/** A dozen requests each second for three minutes. */
function* hammer(start: number): Generator<number> {
  for (let at = start; at < start + 3 * MINUTE; at += 1_000) {
    for (let i = 0; i < 12; i += 1) yield at;
  }
}

/** One request, which begins a window; the others at the window's end, and after it. */
function* aroundTheEdge(start: number): Generator<number> {
  yield start;
  yield* hammer(start + MINUTE - 1_000);
}

/** The most that a client gets with either pattern, beginning at different seconds of a minute. */
async function worstPeakOf(limits: Limit): Promise<number> {
  const starts = Array.from({ length: 10 }, (_, i) => MINUTE + i * 6_000 + 5_000);
  const peaks = starts.flatMap((start) => [
    peakOf(limits, hammer(start)),
    peakOf(limits, aroundTheEdge(start)),
  ]);
  return Math.max(...(await Promise.all(peaks)));
}

const table = tablesOf(page("docs/how-to/choosing-a-limit.md").text)
  .filter(({ head }) => head[1] === "most in any minute")
  .flatMap(({ rows }) => rows);

/** The limit in a cell of code. */
function limitIn(code: string): Limit {
  const names = Object.keys(core);
  const read = new Function(...names, `return ${code.replaceAll("`", "")}`);
  return read(...Object.values(core));
}

test("the table of the most in any minute has every algorithm but concurrency", () => {
  const algorithms = new Set(table.map(([code = ""]) => limitIn(code).algorithm));
  expect([...algorithms].sort()).toEqual([
    "fixedWindow",
    "gcra",
    "slidingLog",
    "slidingWindow",
    "tokenBucket",
  ]);
});

test.each(table)(
  "%s admits at most %s requests in any minute, and as many to a client that tries",
  async (code = "", most) => {
    const limit = limitIn(code);
    expect(String(mostInAnyWindow(limit))).toBe(most);
    expect(String(await worstPeakOf(limit))).toBe(most);
  },
);

test.each<[Limit]>([
  [core.gcra({ limit: 0, window: "1m" })],
  [core.tokenBucket({ capacity: 0, refill: 3, every: "1m" })],
  [core.fixedWindow({ limit: 0, window: "1m" })],
  [core.slidingWindow({ limit: 0, window: "1m" })],
  [core.slidingLog({ limit: 0, window: "1m" })],
  [core.gcra({ limit: 7, window: "1m", burst: 3 })],
  [core.tokenBucket({ capacity: 4, refill: 9, every: "1m" })],
])("the bound of the playground is what a client gets that tries: %o", async (limit) => {
  expect(await worstPeakOf(limit)).toBe(mostInAnyWindow(limit));
});
