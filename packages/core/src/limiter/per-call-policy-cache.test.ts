import { describe, expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import { warnedCodes } from "../common/operator-log.ts";
import type { Limit, Policy } from "../common/policy.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import { compileLimiterPolicy } from "../policy/compiled-policy.ts";
import { replaceLimits } from "../policy/effective-limits.ts";
import { compilePerCallPolicy } from "../policy/per-call-policy.ts";
import { memoryStore } from "../store/memory-store.ts";
import { requireStore } from "../store/store.ts";
import { MAX_SHAPES, PerCallPolicies, PolicyCache } from "./per-call-policies.ts";

/** Policies of calls under a base, and how often one of them was compiled. */
function start(base: Policy) {
  const counted = compileLimiterPolicy("api", base, requireStore(memoryStore()));
  let compiled = 0;
  const compiler = {
    compileSameShape(limits: readonly Limit[]) {
      compiled += 1;
      return replaceLimits(counted, limits);
    },
    compileOtherShape: (limits: readonly Limit[]) =>
      compilePerCallPolicy(counted, limits, "denial"),
    join: (own: CompiledPolicy) => own,
  };
  const shapes = new PerCallPolicies("api", undefined);
  const called = new PolicyCache(compiler, shapes);
  return {
    called,
    shapes,
    counted,
    quotasOf: (policy: unknown) =>
      called.compile(policy as Policy).limits.map(({ limit }) => limit),
    compiled: () => compiled,
  };
}

const hourly = (limit: number) => fixedWindow({ limit, window: "1h" });

describe("a policy passed with calls", () => {
  test("equal policies are compiled once, whether passed as one limit or as a list", () => {
    const { quotasOf, compiled } = start(hourly(1));
    const one = hourly(5);
    const same: unknown[] = [
      one,
      one,
      hourly(5),
      [hourly(5)],
      Object.freeze(hourly(5)),
      { ...one },
    ];
    for (const policy of same) expect(quotasOf(policy)).toEqual([5]);
    expect(compiled()).toBe(1);
  });

  test("undefined properties do not make a policy different", () => {
    const { quotasOf, compiled } = start(gcra({ limit: 1, window: "1h" }));
    const written = { ...gcra({ limit: 5, window: "1h" }), burst: undefined, name: undefined };
    for (let i = 0; i < 3; i += 1) {
      expect(quotasOf(written)).toEqual([5]);
      expect(quotasOf(gcra({ limit: 5, window: "1h" }))).toEqual([5]);
    }
    expect(compiled()).toBe(1);
  });

  test("a policy is compiled again after its object was changed, and after it was changed back", () => {
    const { quotasOf, compiled } = start([hourly(1), slidingLog({ limit: 2, window: "1h" })]);
    const first = { ...hourly(5) } as { limit: number; burst?: number };
    const list: unknown[] = [first, slidingLog({ limit: 2, window: "1h" })];
    expect(quotasOf(list)).toEqual([5, 2]);
    first.limit = 50;
    expect(quotasOf(list)).toEqual([50, 2]);
    list[1] = slidingLog({ limit: 3, window: "1h" });
    expect(quotasOf(list)).toEqual([50, 3]);
    first.limit = 5;
    list[1] = slidingLog({ limit: 2, window: "1h" });
    expect(quotasOf(list)).toEqual([5, 2]);
    expect(compiled()).toBe(3);
    list.pop();
    expect(quotasOf(list)).toEqual([5]);
    list.push(slidingLog({ limit: 2, window: "1h" }));
    first.burst = 7;
    expect(() => quotasOf(list)).toThrow(/unknown option "burst"/);
  });

  test("a policy with a list of blocks is compiled once, and again after the list was changed", () => {
    const block: unknown[] = ["1m", "10m"];
    const guarded = (limit: number) => ({ ...hourly(limit), block: ["1m", "10m"] as const });
    const { quotasOf, compiled } = start(guarded(1));
    for (let i = 0; i < 3; i += 1) expect(quotasOf(guarded(5))).toEqual([5]);
    const written = { ...hourly(5), block };
    expect(quotasOf(written)).toEqual([5]);
    expect(compiled()).toBe(1);
    block[1] = "11m";
    expect(quotasOf(written)).toEqual([5]);
    block[1] = "10m";
    block.push("1h");
    expect(quotasOf(written)).toEqual([5]);
    expect(compiled()).toBe(3);
  });

  test("similar policies are not mistaken for each other", () => {
    const { quotasOf } = start(hourly(1));
    expect(quotasOf(hourly(5))).toEqual([5]);
    const alike: unknown[] = [
      { ...hourly(5), limit: "5" },
      { ...hourly(5), limit: Object(5) },
      { algorithm: "fixedWindow", "limit=5;window": "1h" },
      new (class {
        algorithm = "fixedWindow";
        limit = 5;
        window = "1h";
      })(),
    ];
    for (const policy of alike) {
      expect(() => quotasOf(policy)).toThrow(
        expect.objectContaining({ code: "HEADGATE_INVALID_LIMIT" }),
      );
    }
  });

  test.each([
    undefined,
    null,
    5,
    "gcra",
    5n,
    Symbol("limit"),
    [],
    {},
    [null],
    [[hourly(1)]],
    new Array(1),
    { ...hourly(5), limit: 5n },
    { ...hourly(5), limit: Symbol("5") },
    { ...hourly(5), limit: Object.create(null) },
    { ...hourly(5), limit: null },
    { ...hourly(5), limit: Number.NaN },
    { ...hourly(5), ["__proto__"]: 5 },
    () => hourly(5),
    Promise.resolve(hourly(5)),
  ])("that is invalid is refused, however often it comes (%#)", (policy) => {
    const { quotasOf } = start(hourly(1));
    for (let i = 0; i < 2; i += 1) {
      expect(() => quotasOf(policy)).toThrow(
        expect.objectContaining({ code: "HEADGATE_INVALID_LIMIT" }),
      );
    }
  });

  test("policies with the same numbers in other properties are different", () => {
    const { quotasOf } = start([hourly(1), slidingLog({ limit: 2, window: "1h" })]);
    const policy = (one: number, other: number) => [
      hourly(one),
      slidingLog({ limit: other, window: "1h" }),
    ];
    for (let i = 0; i < 3; i += 1) {
      expect(quotasOf(policy(3, 4))).toEqual([3, 4]);
      expect(quotasOf(policy(4, 3))).toEqual([4, 3]);
      expect(quotasOf(policy(3, 4).reverse())).toEqual([3, 4]);
    }
  });

  test("at most 10,000 policies are cached, and the least recently used is evicted", () => {
    const { quotasOf, compiled } = start(hourly(1));
    const policies = Array.from({ length: 10_000 }, (_, i) => hourly(i + 1));
    for (const policy of policies) quotasOf(policy);
    const [first, second] = policies as unknown as [Limit, Limit];
    quotasOf(first);
    quotasOf(hourly(10_001));
    expect(compiled()).toBe(10_001);
    quotasOf(first);
    expect(compiled()).toBe(10_001);
    expect(quotasOf(second)).toEqual([2]);
    expect(compiled()).toBe(10_002);
  });
});

describe("a policy of another shape", () => {
  const every = (seconds: number, limit = 5) => fixedWindow({ limit, window: `${seconds}s` });

  test("a policy of another shape is compiled once while its shape is in use, and shares cached keys with policies of that shape", () => {
    const { called, shapes, counted } = start(hourly(1));
    const policy = called.compile(every(1));
    expect(called.compile(every(1))).toBe(policy);
    expect(policy.keyspace).toBe(counted.keyspace);
    const more = called.compile(every(1, 50));
    expect(more.limits.map(({ name, limit }) => [name, limit])).toEqual([["50-per-1s", 50]]);
    expect(more.groups[0]?.recentKeys).toBe(policy.groups[0]?.recentKeys);
    expect([...shapes.policies()]).toEqual([policy]);
  });

  test("at most 64 shapes are in use: one more evicts the least recently used and warns once", async () => {
    const { called, shapes } = start(hourly(1));
    // The same process may run the tests of other files before.
    warnedCodes().delete(process);
    const warned = new Promise<Error & { code?: string }>((resolve) => {
      process.once("warning", resolve);
    });
    for (let i = 1; i <= MAX_SHAPES; i += 1) called.compile(every(i));
    const [first, second] = [called.compile(every(1)), called.compile(every(2))];
    called.compile(every(1));
    called.compile(every(100));
    expect([...shapes.policies()]).toHaveLength(MAX_SHAPES);
    expect(called.compile(every(1))).toBe(first);
    expect(called.compile(every(2))).toBe(second);
    // The third was the least recently used.
    const windows = [...shapes.policies()].map(({ limits }) => limits[0]?.name);
    expect(windows).not.toContain("5-per-3s");
    expect(await warned).toMatchObject({
      code: "HEADGATE_TOO_MANY_SHAPES",
      message: expect.stringContaining("scripts of 8 to 19 KB in Redis"),
    });
  });

  test("a policy that differs only in names counts in the limiter's own keys and uses no shape", () => {
    const { called, shapes, counted } = start(hourly(1));
    const named = called.compile({ ...hourly(5), name: "plan" });
    expect(called.compile({ ...hourly(5), name: "plan" })).toBe(named);
    expect(named.groups[0]?.keySuffix).toBe(counted.groups[0]?.keySuffix);
    expect([...shapes.policies()]).toEqual([]);
  });

  test("a policy of another shape counts by the limiter's dimensions, and blocks as the limiter does", () => {
    const { called } = start(hourly(1));
    for (const wrong of [
      { ...hourly(5), per: "tenant" },
      [hourly(5), { ...hourly(5), per: "global", name: "all" }],
    ]) {
      expect(() => called.compile(wrong)).toThrow(
        expect.objectContaining({
          code: "HEADGATE_INVALID_LIMIT",
          message: expect.stringMatching(
            /must count by a dimension .* default; got "(tenant|global)"/,
          ),
        }),
      );
    }
  });
});
