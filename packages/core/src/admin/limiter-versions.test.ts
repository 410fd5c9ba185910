import { describe, expect, test } from "vitest";
import { explainVersions, limiterVersionsOf, policyVersionsOf } from "./limiter-versions.ts";
import type { RegistryLimiter, RegistryProcess } from "./read-registry.ts";

test("processes in shadow mode have a version of their own, and equal processes share one", () => {
  const record = (shadow: boolean) =>
    ({ name: "login", policy: "same", shadow, limits: [], shapes: [], uses: [] }) as unknown;
  const records = [record(true), record(false), record(true)] as RegistryLimiter[];
  expect(limiterVersionsOf(records).map(({ limiter }) => limiter.shadow)).toEqual([true, false]);
});

describe("several versions of a policy", () => {
  const shapes = (fingerprint: string) => [{ per: "default", fingerprint, limits: [] }];
  const version = (limit: number, fingerprint: string, processes: readonly string[]) =>
    ({
      ...{ name: "api", policy: `${limit}`, shadow: false, uses: [] },
      ...{
        limits: [{ algorithm: "gcra", limit, window: "1m" }],
        shapes: shapes(fingerprint),
        processes,
      },
    }) as unknown as RegistryLimiter;
  const started = (...times: readonly number[]) =>
    times.map((startedAt, i) => ({ id: `p${i}`, startedAt })) as unknown as RegistryProcess[];

  test("are ordered by the start of their first processes", () => {
    const limiters = [version(2, "a", ["p0"]), version(1, "a", ["p1", "p2"])];
    const [first] = policyVersionsOf({ limiters, processes: started(20, 10, 30) });
    expect(first?.policy).toBe("1");
  });

  test("look like a deploy only if each started after the one before", () => {
    const versions = [version(1, "a", ["p0", "p1"]), version(2, "a", ["p2"])];
    expect(explainVersions(versions, started(1, 2, 3))[2]).toContain("as in a deploy");
    expect(explainVersions(versions, started(1, 3, 2))[2]).toContain("this is no deploy");
    expect(explainVersions(versions.slice(1), started(1, 2, 3))).toEqual([]);
  });

  test("share their counters if only their numbers differ", () => {
    const first = version(1, "a", ["p0"]);
    const explain = (other: RegistryLimiter) => explainVersions([first, other], started(1, 2));
    expect(explain(version(2, "a", ["p1"]))[1]).toContain("share their counters");
    expect(explain(version(2, "b", ["p1"]))[1]).toContain("count separately");
    expect(explain({ ...first, shadow: true, processes: ["p1"] })[0]).toBe(
      "The versions differ in shadow mode.",
    );
  });
});
