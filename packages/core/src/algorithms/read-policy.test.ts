import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import type { HeadgateError } from "../common/errors.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import { readPolicy } from "./compile-policy.ts";

const perMinute = { algorithm: "gcra", limit: 100, window: "1m", burst: 20 };
const perDay = {
  algorithm: "fixedWindow",
  limit: 1_000,
  window: 86_400_000,
  align: "clock",
  name: "daily",
  per: "tenant",
};

function errorOf(value: unknown): HeadgateError {
  try {
    readPolicy(value);
  } catch (error) {
    return error as HeadgateError;
  }
  throw new Error("nothing was thrown");
}

describe("readPolicy", () => {
  test.each([
    perMinute,
    perDay,
    { algorithm: "tokenBucket", capacity: 50, refill: 10, every: "1s" },
    { algorithm: "slidingWindow", limit: 10, window: "1h", buckets: 6 },
    { algorithm: "slidingLog", limit: 5, window: "15m" },
  ])("a limit is read as it was written: $algorithm", (limit) => {
    expect(readPolicy(JSON.parse(JSON.stringify(limit)))).toEqual(limit);
    expect(createLimiter({ limits: readPolicy(limit) }).limits).toHaveLength(1);
  });

  test("a list is read as it was written", () => {
    expect(readPolicy([perMinute, perDay])).toEqual([perMinute, perDay]);
    expect(readPolicy([perMinute])).toEqual([perMinute]);
  });

  test("later changes to the source do not change the policy", () => {
    const input = [{ ...perMinute }, { ...perDay }];
    const policy = readPolicy(input);
    (input[0] as { limit: number }).limit = -1;
    input.pop();
    expect(policy).toEqual([perMinute, perDay]);
    const frozen = Object.freeze({ ...perMinute });
    expect(Object.isFrozen(readPolicy(frozen))).toBe(false);
  });

  test("a policy may come from another realm, or have no prototype", () => {
    const foreign = runInNewContext(`JSON.parse('[${JSON.stringify(perMinute)}]')`);
    expect(readPolicy(foreign)).toEqual([perMinute]);
    const bare = Object.assign(Object.create(null), perMinute);
    expect(readPolicy(bare)).toEqual(perMinute);
  });
});

describe("readPolicy refuses", () => {
  test.each([
    { base: perMinute, limitsOf: () => perMinute },
    { tiers: { free: perMinute }, select: () => "free" },
  ])("the limits of an HTTP adapter, and names the way to pass limits with a call: %j", (value) => {
    for (const given of [value, [value]]) {
      expect(errorOf(given)).toMatchObject({
        code: "HEADGATE_INVALID_LIMIT",
        message: expect.stringContaining("limiter.consume(subject, { limits })"),
      });
    }
  });

  test.each([undefined, null, 5, "gcra", true, () => perMinute, new Map(), {}])("%s", (value) => {
    expect(errorOf(value)).toMatchObject({
      code: "HEADGATE_INVALID_LIMIT",
      message: expect.stringMatching(/^a limit must be a plain object whose algorithm is one of /),
    });
    expect(errorOf([perMinute, value]).message).toMatch(/^limits\[1\]: a limit must be a plain/);
  });

  test.each([
    ["an empty list", [], /^limits must hold at least one limit/],
    [
      "101 limits",
      new Array(101).fill(perMinute),
      /^limits must hold at most 100 limits, got 101$/,
    ],
    ["a hole", new Array(4_000_000_000), /^limits must hold at most 100 limits, got 4000000000$/],
    [
      "a small hole",
      Object.assign(new Array(3), { 0: perMinute, 2: perDay }),
      /^limits\[1\]: a limit must be a plain object/,
    ],
    ["a list in a list", [[perMinute]], /^limits\[0\]: a limit must be a plain object/],
    ["a twin", [perMinute, perDay, perMinute], /^limits\[0\] and limits\[2\], both per "default"/],
  ])("%s", (_, value, message) => {
    expect(errorOf(value)).toMatchObject({
      code: "HEADGATE_INVALID_LIMIT",
      message: expect.stringMatching(message),
    });
  });

  test.each([
    [{ algorithm: "gcar" }, "algorithm is one of"],
    [{ windw: "1m" }, 'gcra: unknown option "windw"'],
    [{ max: undefined }, 'gcra: unknown option "max"'],
    [{ limit: "100" }, 'gcra: limit must be a whole number from 0 to 1000000000, got "100"'],
    [{ window: "1 fortnight" }, "gcra: window must be a duration"],
    [{ window: undefined }, "gcra: window must be a duration"],
    [{ per: "a b" }, "gcra: per must be"],
  ])("%j", (change, message) => {
    expect(errorOf({ ...perMinute, ...change }).message).toContain(message);
    expect(errorOf([perDay, { ...perMinute, ...change }]).message).toMatch(/^limits\[1\]: /);
  });

  test("inherited properties", () => {
    class Configured {
      readonly algorithm = "gcra";
      readonly limit = 100;
      readonly window = "1m";
    }
    for (const value of [
      new Configured(),
      Object.create(perMinute),
      Object.assign(Object.create({ burst: 5 }), perMinute),
    ]) {
      expect(errorOf(value).code).toBe("HEADGATE_INVALID_LIMIT");
    }
    // Where nobody can tell it from a plain object of another realm, what it inherits is not read.
    const { burst, ...own } = perMinute;
    const hidden = Object.create(Object.assign(Object.create(null), { burst }));
    expect(readPolicy(Object.assign(hidden, own))).toEqual(own);
  });

  test("a __proto__ that JSON wrote", () => {
    const value = JSON.parse('{"algorithm":"gcra","limit":1,"__proto__":{"window":"1m"}}');
    expect(errorOf(value).message).toContain('unknown option "__proto__"');
  });

  test("getters, which it does not call, and hidden properties, which it does not drop", () => {
    const asked = {
      ...perMinute,
      get burst(): number {
        throw new Error("must not be asked");
      },
    };
    const hidden = Object.defineProperty({ ...perMinute }, "burst", {
      value: 5,
      enumerable: false,
    });
    for (const value of [asked, hidden]) {
      expect(errorOf(value).message).toContain('its property "burst" is a getter, hidden');
    }
    expect(errorOf({ ...perMinute, [Symbol("burst")]: 5 }).message).toContain("or a symbol");
  });
});
