import { describe, expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import { slidingWindow } from "../algorithms/sliding-window.ts";
import { tokenBucket } from "../algorithms/token-bucket.ts";
import type { Decision } from "../common/decision.ts";
import type { Limit, Policy } from "../common/policy.ts";
import { identityOf } from "../operations/counter.ts";
import { compileLimiterPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { countersOf } from "../policy/counters.ts";
import { takeReceipts } from "../policy/limiter-decision.ts";
import { memoryStore } from "../store/memory-store.ts";
import { requireStore } from "../store/store.ts";
import { createDecisionRequest } from "./decision-request.ts";
import { scaleToShare } from "./fallback-stage.ts";
import { createMemoryStage } from "./memory-stage.ts";
import { applyMutations, refundMutation } from "./mutations.ts";

const HOUR_MS = 3_600_000;

/** Counts a share of a policy in this process, on a clock of its own. */
function countShare(policy: Policy, share: number) {
  let now = 500_000 * HOUR_MS;
  const store = requireStore(memoryStore({ clock: () => now }));
  const counted = compileLimiterPolicy("api", policy, store);
  const shareOf = scaleToShare(share);
  const counters = countersOf(counted, "u").map(shareOf);
  const local = createMemoryStage(counted, store, "local");
  return {
    units: counters,
    consume: (cost = 1) => local.decide(createDecisionRequest(counted, counters, cost, "charge")),
    async remaining() {
      const { allowed, limits } = await local.decide(
        createDecisionRequest(counted, counters, 1, "peek"),
      );
      // A peek that is allowed reports what would be left after it.
      return limits.map(({ remaining }) => remaining + (allowed ? 1 : 0));
    },
    giveBack: (decision: Decision) =>
      applyMutations(local, takeReceipts(decision, counted).map(refundMutation)),
    pass(ms: number) {
      now += ms;
    },
  };
}

/** What a process counts of one limit. */
function shareOf(limit: Limit, share: number) {
  const [counter] = countShare(limit, share).units;
  const [compiled] = counter?.limits ?? [];
  if (compiled === undefined) throw new Error("there is no limit");
  return compiled;
}

const hourly = (limit: number): Limit => fixedWindow({ limit, window: "1h" });

describe("the local share of a limit", () => {
  test("a share of 1/n is exact if the limit is a multiple of n", () => {
    expect(shareOf(hourly(98), 1 / 49).limit).toBe(2);
    for (let n = 1; n <= 1_000; n += 1) {
      for (const each of [1, 2, 3, 7, 1_000]) {
        expect(shareOf(hourly(n * each), 1 / n).limit, `1/${n} of ${n * each}`).toBe(each);
      }
    }
  });

  test("a share that is not a whole number is rounded down", () => {
    for (let n = 2; n <= 1_000; n += 1) {
      expect(shareOf(hourly(n * 5 - 1), 1 / n).limit, `1/${n} of ${n * 5 - 1}`).toBe(4);
    }
    expect(shareOf(hourly(1_000_000_000), 0.999_999_999_9).limit).toBe(999_999_999);
  });

  test.each<[name: string, limit: Limit]>([
    ["gcra", gcra({ limit: 9, window: "1h" })],
    ["gcra with a burst", gcra({ limit: 30, window: "1h", burst: 9 })],
    ["tokenBucket", tokenBucket({ capacity: 9, refill: 3, every: "1h" })],
    ["fixedWindow", fixedWindow({ limit: 9, window: "1h" })],
    ["slidingWindow", slidingWindow({ limit: 9, window: "1h" })],
    ["slidingWindow in buckets", slidingWindow({ limit: 9, window: "1h", buckets: 6 })],
    ["slidingLog", slidingLog({ limit: 9, window: "1h" })],
  ])(
    "a share of %s is rounded down to at least one unit and keeps the limit's name",
    (_, limit) => {
      const whole = shareOf(limit, 1);
      const share = shareOf(limit, 0.5);
      expect(share).toMatchObject({ limit: 4, name: whole.name, per: whole.per });
      expect(shareOf(limit, 0.01).limit).toBe(1);
      expect(shareOf({ ...limit, name: "own", per: "tenant" }, 0.01)).toMatchObject({
        name: "own",
        per: "tenant",
      });
    },
  );

  test("a share of 1 uses the limit's own counter key, and each other share has another key", () => {
    const [own, half, quarter] = [1, 0.5, 0.25].map((share) =>
      identityOf(countShare(hourly(8), share).units[0] as SubjectCounter),
    );
    expect(new Set([own, half, quarter]).size).toBe(3);
    expect(own).toMatch(/^\}:api:[^:]*:[\w-]{8}u$/);
  });
});

describe("a cost above the local share", () => {
  test("a cost above the share counts as the whole share, separately for each limit", async () => {
    const limits = [gcra({ limit: 8, window: "1ms", name: "burst" }), hourly(400)];
    const { consume, pass } = countShare(limits, 0.25);
    for (let hour = 0; hour < 2; hour += 1) {
      let units = 0;
      for (let i = 0; i < 50; i += 1) {
        if ((await consume(8)).allowed) units += 8;
        pass(1);
      }
      // 100 an hour, in steps of 8.
      expect(units).toBe(96);
      pass(HOUR_MS);
    }
  });

  test("a cost above the share is denied until the whole share is free", async () => {
    const { consume, pass } = countShare(hourly(100), 0.25);
    expect(await consume(1)).toMatchObject({ allowed: true });
    expect(await consume(80)).toMatchObject({
      allowed: false,
      limits: [{ limit: 25, remaining: 24, retryAfterMs: HOUR_MS }],
    });
    pass(HOUR_MS);
    expect(await consume(80)).toMatchObject({ allowed: true, limits: [{ remaining: 0 }] });
    expect((await consume(1)).allowed).toBe(false);
  });

  test("a refund of a cost above the share returns the units it counted as, once", async () => {
    const { consume, giveBack, remaining } = countShare(
      [hourly(100), slidingLog({ limit: 400, window: "1h" })],
      0.25,
    );
    const answer = await consume(80);
    expect(await remaining()).toEqual([0, 20]);
    expect(await giveBack(answer)).toBe(true);
    expect(await remaining()).toEqual([25, 100]);
    expect(await giveBack(answer)).toBe(false);
    expect(await remaining()).toEqual([25, 100]);
  });

  test.each([
    gcra({ limit: 100, window: "1h" }),
    tokenBucket({ capacity: 100, refill: 100, every: "1h" }),
  ])(
    "a refund of a cost above the share returns only units that have not refilled yet: $algorithm",
    async (limit) => {
      const { consume, giveBack, remaining, pass } = countShare(limit, 0.25);
      const answer = await consume(80);
      pass(HOUR_MS / 2);
      expect(await consume(10)).toMatchObject({ allowed: true, limits: [{ remaining: 2 }] });
      expect(await giveBack(answer)).toBe(true);
      // What was charged since stays charged.
      expect(await remaining()).toEqual([15]);
    },
  );

  test("a cost above any whole limit is always denied and charges nothing", async () => {
    const { consume, remaining, pass } = countShare(
      [hourly(100), fixedWindow({ limit: 400, window: "1d" })],
      0.25,
    );
    expect(await consume(101)).toMatchObject({
      allowed: false,
      limits: [{ allowed: false, retryAfterMs: Number.POSITIVE_INFINITY }, {}],
    });
    pass(48 * HOUR_MS);
    expect((await consume(101)).allowed).toBe(false);
    expect(await remaining()).toEqual([25, 100]);
    expect((await consume(100)).allowed).toBe(true);
  });
});
