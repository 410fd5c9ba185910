import { describe, expect, test } from "vitest";
import { concurrency } from "../algorithms/concurrency.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import { slidingWindow } from "../algorithms/sliding-window.ts";
import { tokenBucket } from "../algorithms/token-bucket.ts";
import { codeOf } from "../common/errors.ts";
import { checkOverride, incompatibilityOf, incompatibilityWithAll } from "./apply-override.ts";
import type { Override } from "./record.ts";

const POLICY = [
  gcra({ limit: 100, window: "1m" }),
  tokenBucket({ capacity: 10, refill: 5, every: "1s", name: "bucket", per: "tenant" }),
  fixedWindow({ limit: 1_000, window: "month", name: "monthly", per: "global" }),
  slidingWindow({ limit: 10, window: "1s", name: "window" }),
  slidingLog({ limit: 10, window: "1s", name: "log", block: "1m" }),
  concurrency({ limit: 5, ttl: "1m", name: "places" }),
];

function failureOf(override: unknown): string {
  try {
    checkOverride(POLICY, override as Partial<Override>);
    return "fits";
  } catch (error) {
    return `${codeOf(error)}: ${(error as Error).message}`;
  }
}

describe("an override is compatible with", () => {
  test.each<Partial<Override>>([
    { shadow: true },
    { shadow: false, subject: { default: "ada" } },
    { limits: { "100-per-1m": { limit: 1 } } },
    { limits: { "100-per-1m": { limit: 1_000, burst: 1 }, bucket: { capacity: 1 } } },
    { limits: { bucket: { capacity: 1_000_000_000, refill: 1_000_000 } } },
    { limits: { monthly: { limit: 5 } }, subject: { global: "*" } },
    { limits: { window: { limit: 5 } } },
    { limits: { log: { limit: 1_000_000 } } },
    { limits: { places: { limit: 10_000 } } },
    { limits: { bucket: { refill: 1 } }, subject: { tenant: "acme", default: "ada" } },
  ])("%j", (override) => {
    expect(failureOf(override)).toBe("fits");
  });

  test("a single limit, with the fields of a record", () => {
    const limits = { "100-per-1m": { limit: 5 } };
    const override = { limiter: "api", limits, from: 1, until: null };
    checkOverride(gcra({ limit: 100, window: "1m" }), override);
  });
});

describe("an incompatible override names the problem:", () => {
  test.each<[unknown, string]>([
    [{}, "HEADGATE_INVALID_OPTION: override changes nothing: it takes limits, shadow, or both"],
    [{ shadow: 1 }, "HEADGATE_INVALID_OPTION: override: shadow must be true or false, got 1"],
    [
      { limits: {} },
      "HEADGATE_INVALID_OPTION: override: limits must be an object with at least one limit",
    ],
    [
      { limits: { hourly: { limit: 5 } } },
      'HEADGATE_INVALID_OPTION: override: no limit is called "hourly"; the limits are "100-per-1m", "bucket", "monthly", "window", "log", "places"',
    ],
    [
      { limits: { toString: { limit: 5 } } },
      "HEADGATE_INVALID_OPTION: override: no limit is called",
    ],
    [
      { limits: { window: {} } },
      'HEADGATE_INVALID_OPTION: override of "window" must be an object with at least one of limit, burst, capacity, refill',
    ],
    [
      { limits: { window: { window: "1h" } } },
      'HEADGATE_INVALID_OPTION: override of "window": unknown option "window"; it takes limit, burst, capacity, refill',
    ],
    [
      { limits: { log: { block: "1h" } } },
      'HEADGATE_INVALID_OPTION: override of "log": unknown option "block"',
    ],
    [
      { limits: { window: { burst: 5 } } },
      'HEADGATE_INVALID_LIMIT: override of "window": slidingWindow: unknown option "burst"',
    ],
    [
      { limits: { bucket: { limit: 5 } } },
      'HEADGATE_INVALID_LIMIT: override of "bucket": tokenBucket: unknown option "limit"',
    ],
    [
      { limits: { bucket: { refill: 1_000_001 } } },
      'HEADGATE_INVALID_LIMIT: override of "bucket": tokenBucket: refill per every must be at most 1000000 per second',
    ],
    [
      { limits: { "100-per-1m": { limit: -1 } } },
      'HEADGATE_INVALID_LIMIT: override of "100-per-1m": gcra: limit must be a whole number from 0 to 1000000000, got -1',
    ],
    [
      { limits: { places: { limit: 10_001 } } },
      'HEADGATE_INVALID_LIMIT: override of "places": concurrency: limit must be a whole number from 0 to 10000',
    ],
    [
      { limits: { log: { limit: 1_000_001 } } },
      'HEADGATE_INVALID_LIMIT: override of "log": slidingLog: limit must be a whole number from 0 to 1000000',
    ],
    [
      { shadow: true, subject: {} },
      "HEADGATE_INVALID_OPTION: override: subject must be an object with the subject of at least one dimension",
    ],
    [
      { shadow: true, subject: { user: "ada" } },
      'HEADGATE_INVALID_OPTION: override: no limit counts by "user"; this limiter counts by default, tenant, global',
    ],
    [
      { shadow: true, subject: { default: "" } },
      'HEADGATE_INVALID_OPTION: override: the subject of "default" must be a non-empty string, got a string',
    ],
    [
      { shadow: true, subject: { global: "ada" } },
      'HEADGATE_INVALID_OPTION: override: the subject of "global" is everybody, "*"',
    ],
    [
      { limits: { bucket: { capacity: 5 } }, subject: { default: "ada" } },
      'HEADGATE_INVALID_OPTION: override: the limit "bucket" counts by tenant, and the override is for a subject of default',
    ],
    [{ shadow: true, block: "1m" }, 'HEADGATE_INVALID_OPTION: override: unknown option "block"'],
  ])("%j", (override, message) => {
    expect(failureOf(override)).toContain(message);
  });
});

test("an incompatibility is the error of the check, and undefined for a compatible override", () => {
  const policy = fixedWindow({ limit: 5, window: "1h", name: "hourly" });
  expect(incompatibilityOf(policy, { limits: { hourly: { limit: 9 } } })).toBeUndefined();
  expect(incompatibilityOf(policy, { limits: { daily: { limit: 9 } } })).toMatchObject({
    code: "HEADGATE_INVALID_OPTION",
    message: 'override: no limit is called "daily"; the limits are "hourly"',
  });
});

test("the incompatibility with several policies is that of the first, and undefined if any is compatible", () => {
  const hourly = fixedWindow({ limit: 5, window: "1h", name: "hourly" });
  const daily = fixedWindow({ limit: 5, window: "1d", name: "daily" });
  const ofHours = { limits: { hourly: { limit: 9 } } };
  expect(incompatibilityWithAll([daily, hourly], ofHours)).toBeUndefined();
  expect(incompatibilityWithAll([daily, []], ofHours)).toMatchObject({
    message: 'override: no limit is called "hourly"; the limits are "daily"',
  });
  expect(incompatibilityWithAll([], ofHours)).toBeUndefined();
});

test("a name means all limits with that name, and for a subject those that count by its dimension", () => {
  const policy = [
    fixedWindow({ limit: 5, window: "1h", name: "hourly" }),
    tokenBucket({ capacity: 5, refill: 5, every: "1h", name: "hourly", per: "tenant" }),
  ];
  const limits = { hourly: { limit: 9 } };
  expect(() => checkOverride(policy, { limits })).toThrow("tokenBucket");
  checkOverride(policy, { limits, subject: { default: "ada" } });
});
