import { expect, test } from "vitest";
import { gcra } from "../../algorithms/gcra.ts";
import type { Decision } from "../../decision.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { createLimiter } from "../create-limiter.ts";
import { LIMITER } from "../limiter.ts";
import { agedDenial } from "./aged-denial.ts";

/** A denial under two limits, and what the same limits say when so many milliseconds have passed. */
async function start(passedMs: number) {
  let now = 1_800_000_000_000;
  const limiter = createLimiter({
    name: "aged",
    limits: [gcra({ limit: 2, window: "10s", name: "few" }), gcra({ limit: 9, window: "1h" })],
    store: memoryStore({ clock: () => now }),
  });
  await limiter.consume("u", { cost: 2 });
  const decision = await limiter.consume("u");
  now += passedMs;
  return { counted: limiter[LIMITER].counted, decision, later: await limiter.consume("u") };
}

const at = 1_800_000_000_000_000;

test.each([0, 1, 1_234, 4_999])("after %i ms it says what a new one would", async (passedMs) => {
  const { counted, decision, later } = await start(passedMs);
  const aged = agedDenial(counted, { decision, at }, 1, at + passedMs * 1_000);
  expect(later.allowed).toBe(false);
  expect(aged).toEqual(later);
});

test("what is due by now is still to be waited for, and a clock that stepped back makes no wait longer", async () => {
  const { counted, decision } = await start(0);
  const aged = (now: number): Decision => agedDenial(counted, { decision, at }, 3, now);
  expect(aged(at + 60_000_000)).toMatchObject({ allowed: false, cost: 3, retryAfterMs: 1 });
  expect(aged(at - 60_000_000).retryAfterMs).toBe(decision.retryAfterMs);
  // The limit that would have allowed says so still.
  expect(aged(at).limits.map(({ allowed }) => allowed)).toEqual([false, true]);
});
