import { expect, test } from "vitest";
import { limiterVersionsOf } from "./limiter-versions.ts";
import type { RegistryLimiter } from "./read-registry.ts";

test("processes in shadow mode have a version of their own, and equal processes share one", () => {
  const record = (shadow: boolean) =>
    ({ name: "login", policy: "same", shadow, limits: [], shapes: [], uses: [] }) as unknown;
  const records = [record(true), record(false), record(true)] as RegistryLimiter[];
  expect(limiterVersionsOf(records).map(({ limiter }) => limiter.shadow)).toEqual([true, false]);
});
