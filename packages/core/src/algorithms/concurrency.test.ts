import { describe, expect, test } from "vitest";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { CompiledLimit } from "./algorithm.ts";
import { compileLimit, readPolicy } from "./compile-policy.ts";
import { concurrency } from "./concurrency.ts";

const MS = 1_000;

/** A limit of two places that last 30 ms, and its state. */
function twoPlaces() {
  const { algorithm, quota } = compileLimit(concurrency({ limit: 2, ttl: 30 })) as CompiledLimit;
  const state = algorithm.createState(quota);
  return {
    pass: (ms: number) => algorithm.advance(state, quota, ms * MS, 0),
    hold(holder: string) {
      algorithm.releaseSlots?.(state, holder);
      algorithm.acquireSlots?.(state, quota, holder, 1);
    },
    leave: (holder: string) => algorithm.releaseSlots?.(state, holder),
    wait: () => algorithm.waitTime(state, quota, 1),
    remaining: () => algorithm.report(state, quota).remaining,
    lasts: () => algorithm.lastsFor?.(state, 0),
  };
}

describe("a concurrency limit", () => {
  test("a concurrency limit is plain data, and has no window", () => {
    const limit = concurrency({ limit: 2, ttl: "30s" });
    expect(limit).toEqual({ algorithm: "concurrency", limit: 2, ttl: "30s" });
    expect(readPolicy(JSON.parse(JSON.stringify(limit)))).toEqual(limit);
    expect(createLimiter({ limits: limit }).limits).toEqual([
      { name: "2-at-once", per: "default", limit: 2, windowMs: 0 },
    ]);
  });

  test.each([
    [{ limit: -1 }, "limit must be a whole number from 0 to 10000, got -1"],
    [{ limit: 10_001 }, "limit must be a whole number from 0 to 10000, got 10001"],
    [{ limit: 1.5 }, "limit must be a whole number from 0 to 10000, got 1.5"],
    [{ ttl: 0 }, "ttl must be a duration"],
    [{ ttl: "1y" }, "ttl must be a duration"],
    [{ window: "1m" }, 'unknown option "window"; it takes limit, ttl, name, per'],
  ])("a concurrency limit of %o is refused", (wrong, message) => {
    const options = { limit: 2, ttl: "30s", ...wrong } as never;
    expect(() => compileLimit(concurrency(options))).toThrow(`concurrency: ${message}`);
  });

  test("a request is denied while all slots are held", () => {
    const places = twoPlaces();
    places.hold("one");
    expect([places.remaining(), places.wait()]).toEqual([1, 0]);
    places.hold("two");
    expect([places.remaining(), places.wait()]).toEqual([0, 1_000 * MS]);
    expect(places.leave("three")).toBe(0);
    expect(places.leave("one")).toBe(1);
    expect(places.leave("one")).toBe(0);
    expect([places.remaining(), places.wait()]).toEqual([1, 0]);
  });

  test("slots that are not renewed become free in the order of their last renewal", () => {
    const places = twoPlaces();
    places.hold("one");
    places.pass(10);
    places.hold("two");
    places.pass(10);
    places.hold("one");
    expect([places.remaining(), places.lasts()]).toEqual([0, 30 * MS]);
    places.pass(19);
    expect(places.remaining()).toBe(0);
    places.pass(1);
    expect(places.remaining()).toBe(1);
    expect(places.leave("two")).toBe(0);
    places.pass(10);
    expect([places.remaining(), places.lasts()]).toEqual([2, 0]);
  });
});
