import { describe, expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import { slidingWindow } from "../algorithms/sliding-window.ts";
import { tokenBucket } from "../algorithms/token-bucket.ts";
import type { Limit } from "../common/policy.ts";
import { memoryStore } from "../store/memory-store.ts";
import { requireStore } from "../store/store.ts";
import type { CompiledPolicy } from "./compiled-policy.ts";
import { compileLimiterPolicy } from "./compiled-policy.ts";
import { replaceLimits } from "./effective-limits.ts";

const base: readonly Limit[] = [
  gcra({ limit: 30, window: "1m" }),
  slidingLog({ limit: 5, window: "1h", name: "hourly" }),
  fixedWindow({ limit: 7, window: "1d", per: "tenant" }),
  gcra({ limit: 10, window: "1s", name: "calm", per: "tenant" }),
  gcra({ limit: 20, window: "1s", name: "busy", per: "tenant" }),
];
const counted = compileLimiterPolicy("api", base, requireStore(memoryStore()));

const described = (policy: readonly Limit[]) =>
  replaceLimits(counted, policy)?.limits.map(({ name, per, limit }) => `${per} ${name} ${limit}`);

describe("limits of the same shape with other numbers", () => {
  const given: readonly Limit[] = [
    gcra({ limit: 1_000, window: 60_000 }),
    slidingLog({ limit: 6, window: "60m" }),
    fixedWindow({ limit: 8, window: "24h", per: "tenant", name: "7-per-1d" }),
    gcra({ limit: 11, window: "1s", name: "calm", per: "tenant" }),
    gcra({ limit: 21, window: "1s", burst: 3, name: "busy", per: "tenant" }),
  ];
  const expected = [
    "default 30-per-1m 1000",
    "default hourly 6",
    "tenant 7-per-1d 8",
    "tenant calm 11",
    "tenant busy 3",
  ];

  test("replaced limits keep the configured names and order, in whichever order they are given", () => {
    expect(described(given)).toEqual(expected);
    expect(described([...given].reverse())).toEqual(expected);
  });

  test("replaced limits use the same counter keys", () => {
    const inForce = replaceLimits(counted, given) as CompiledPolicy;
    expect(inForce.keyspace).toBe(counted.keyspace);
    const keysOf = (policy: typeof counted) =>
      policy.groups.map(({ keyPrefix, keySuffix }) => keyPrefix + keySuffix);
    expect(keysOf(inForce)).toEqual(keysOf(counted));
    expect(inForce.groups.map(({ positions }) => positions)).toEqual(
      counted.groups.map(({ positions }) => positions),
    );
  });

  test("block lengths and denials before a block can be replaced, but not whether a limit blocks", () => {
    const guarded = fixedWindow({ limit: 1, window: "1d", block: ["1m", "1h"] });
    const blocking = compileLimiterPolicy("api", guarded, requireStore(memoryStore()));
    const inForce = replaceLimits(blocking, [{ ...guarded, limit: 50 }])?.limits[0];
    expect(inForce).toMatchObject({ limit: 50, block: { durations: [60_000_000, 3_600_000_000] } });
    const longer = replaceLimits(blocking, [{ ...guarded, block: "2h" }]);
    expect(longer?.limits[0]).toMatchObject({
      name: "1-per-1d",
      block: { durations: [7_200_000_000] },
    });
    for (const block of [undefined, { after: 2, for: "1m" }] as const) {
      expect(replaceLimits(blocking, [{ ...guarded, block }])).toBeUndefined();
    }
    expect(replaceLimits(counted, [{ ...guarded, per: "tenant" }])).toBeUndefined();
  });

  test("two unnamed limits may be given numbers that make their default names equal", () => {
    const two = compileLimiterPolicy(
      "api",
      [gcra({ limit: 1, window: "1m" }), fixedWindow({ limit: 2, window: "1m" })],
      requireStore(memoryStore()),
    );
    const equal = [fixedWindow({ limit: 9, window: "1m" }), gcra({ limit: 9, window: "1m" })];
    expect(replaceLimits(two, equal)?.limits.map(({ name }) => name)).toEqual([
      "1-per-1m",
      "2-per-1m",
    ]);
  });

  test("all replacements of a policy share at most two number layouts per dimension, one of them its own", () => {
    const layouts = new Set<object>();
    for (let i = 0; i < 8; i += 1) {
      const burst = (bit: number) => (i & bit ? { burst: 5 } : {});
      const policy = [
        gcra({ limit: 30, window: "1m", ...burst(1) }),
        ...given.slice(1, 3),
        gcra({ limit: 10, window: "1s", name: "calm", per: "tenant", ...burst(2) }),
        gcra({ limit: 20, window: "1s", name: "busy", per: "tenant", ...burst(4) }),
      ];
      const { groups } = replaceLimits(counted, policy) as CompiledPolicy;
      for (const { shape, encodedParameters, limits } of groups) {
        layouts.add(shape);
        expect(encodedParameters.length % limits.flatMap((limit) => limit.parameters).length).toBe(
          0,
        );
      }
    }
    // Of each dimension.
    expect(layouts.size).toBe(4);
    for (const { shape } of counted.groups) expect(layouts).toContain(shape);
  });
});

describe("limits of another shape", () => {
  const minute = gcra({ limit: 30, window: "1m" });

  test.each<[what: string, of: Limit, given: readonly Limit[]]>([
    ["another window", minute, [gcra({ limit: 30, window: "2m" })]],
    ["another algorithm", minute, [slidingWindow({ limit: 30, window: "1m" })]],
    ["another name", minute, [gcra({ limit: 30, window: "1m", name: "plan" })]],
    [
      "the name that its own numbers give",
      minute,
      [gcra({ limit: 9, window: "1m", name: "9-per-1m" })],
    ],
    ["another dimension", minute, [gcra({ limit: 30, window: "1m", per: "tenant" })]],
    ["one more", minute, [minute, slidingLog({ limit: 1, window: "1s" })]],
    ["the same twice", minute, [minute, minute]],
    [
      "another alignment",
      fixedWindow({ limit: 1, window: "1h" }),
      [fixedWindow({ limit: 1, window: "1h", align: "clock" })],
    ],
    [
      "other buckets",
      slidingWindow({ limit: 1, window: "1h" }),
      [slidingWindow({ limit: 1, window: "1h", buckets: 6 })],
    ],
    [
      "another time to refill",
      tokenBucket({ capacity: 1, refill: 1, every: "1s" }),
      [tokenBucket({ capacity: 1, refill: 1, every: "2s" })],
    ],
  ])("limits have another shape with %s", (_, of, given) => {
    const counts = compileLimiterPolicy("api", of, requireStore(memoryStore()));
    expect(replaceLimits(counts, given)).toBeUndefined();
  });

  test("limits have another shape if one is missing, or if two of one shape have no name", () => {
    expect(described(base.slice(1))).toBeUndefined();
    const unnamed = [...base.slice(0, 4), gcra({ limit: 20, window: "1s", per: "tenant" })];
    expect(described(unnamed)).toBeUndefined();
  });

  test("a number out of range is rejected with its position in the list of limits", () => {
    const wrong = [...base.slice(0, 4), gcra({ limit: -1, window: "1s", per: "tenant" })];
    expect(() => described(wrong)).toThrow(/^limits\[4\]: gcra: limit must be .*, got -1/);
  });
});
