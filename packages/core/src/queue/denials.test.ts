import { expect, test } from "vitest";
import { concurrency } from "../algorithms/concurrency.ts";
import { gcra } from "../algorithms/gcra.ts";
import type { Decision } from "../common/decision.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { internalsOf } from "../limiter/limiter-internals.ts";
import { assignCosts } from "../policy/costs.ts";
import { countersOf } from "../policy/counters.ts";
import { allLimitsOf, LimiterDecision } from "../policy/limiter-decision.ts";
import { memoryStore } from "../store/memory-store.ts";
import { ageDenial } from "./denials.ts";

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
  return { ...countedBy(limiter), decision, later: await limiter.consume("u") };
}

function countedBy(limiter: Limiter) {
  const { policy } = internalsOf(limiter);
  return { counted: policy, counters: countersOf(policy, "u") };
}

const receivedAt = 1_800_000_000_000_000;

test.each([0, 1, 1_234, 4_999])("after %i ms an aged denial equals a new one", async (passedMs) => {
  const { counted, counters, decision, later } = await start(passedMs);
  const aged = ageDenial(
    counted,
    { decision, receivedAt },
    counters,
    1,
    receivedAt + passedMs * 1_000,
  );
  expect(later.allowed).toBe(false);
  expect(aged).toEqual(later);
});

test("an aged denial waits at least 1 ms, and never longer if the clock stepped back", async () => {
  const { counted, counters, decision } = await start(0);
  const aged = (now: number): Decision =>
    ageDenial(counted, { decision, receivedAt }, counters, 3, now);
  expect(aged(receivedAt + 60_000_000)).toMatchObject({ allowed: false, cost: 3, retryAfterMs: 1 });
  expect(aged(receivedAt - 60_000_000).retryAfterMs).toBe(decision.retryAfterMs);
  // The limit that would have allowed says so still.
  expect(aged(receivedAt).limits.map(({ allowed }) => allowed)).toEqual([false, true]);
});

test("an aged denial with a cost by name has that cost and the excluded limits", async () => {
  const limiter = createLimiter({
    limits: [
      gcra({ limit: 2, window: "10s", name: "requests" }),
      gcra({ limit: 9, window: "1h", name: "tokens" }),
    ],
  });
  const { counted, counters } = countedBy(limiter);
  const cost = { requests: 2, tokens: 0 };
  await limiter.consume("u", { cost });
  const decision = await limiter.consume("u", { cost });
  const named = assignCosts(counters, cost);
  const aged = ageDenial(counted, { decision, receivedAt }, named.counters, named.cost, receivedAt);
  expect(aged).toEqual(decision);
  expect(aged.cost).toEqual({ requests: 2 });
  expect(allLimitsOf(aged)?.map(({ name }) => name)).toEqual(["requests", "tokens"]);
});

test("an aged denial shortens the wait for a block, but not for a slot", async () => {
  const limiter = createLimiter({ limits: concurrency({ limit: 1, ttl: "1m" }) });
  const { counted, counters } = countedBy(limiter);
  const aged = (decision: Decision): Decision =>
    ageDenial(counted, { decision, receivedAt }, counters, 1, receivedAt + 600_000);
  await limiter.consume("u");
  expect(aged(await limiter.consume("u"))).toMatchObject({ retryAfterMs: 1_000, blocked: false });
  await limiter.block("u", "10s");
  const blocked = await limiter.consume("u");
  expect(aged(blocked)).toMatchObject({ retryAfterMs: blocked.retryAfterMs - 600, blocked: true });
});

test("an aged denial without limits keeps its retryAfterMs", async () => {
  const { counted, counters } = await start(0);
  const source = "deny";
  const outcome = { allowed: false, limits: [], cost: 1, source, receipts: [] } as const;
  const decision = new LimiterDecision(counted, { ...outcome, retryAfterMs: 1_000 });
  expect(ageDenial(counted, { decision, receivedAt }, counters, 1, receivedAt).retryAfterMs).toBe(
    1_000,
  );
});
