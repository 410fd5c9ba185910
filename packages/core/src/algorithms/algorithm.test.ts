import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import type { Limit } from "../common/policy.ts";
import type { CompiledLimit, LimitReport } from "./algorithm.ts";
import { compileLimit } from "./compile-policy.ts";
import { MAX_MICROS, NEVER } from "./exact-arithmetic.ts";

/*
 * What every algorithm owes the driver, on any quota it takes and after any history.
 */

/** One limit's state on a clock of its own. */
interface Course {
  readonly limit: CompiledLimit;
  readonly state: unknown;
  readonly now: number;
}

interface Move {
  /** How far time goes on, as a share of the window. */
  readonly rest: number;
  /** What is asked then, as a share of the limit. */
  readonly share: number;
}

const BEGIN = 1_800_000_000_123_456;

function begin(limit: Limit): Course {
  const compiled = compileLimit(limit);
  return { limit: compiled, state: compiled.algorithm.createState(compiled.quota), now: BEGIN };
}

/** The same course later; the one given stays where it is. */
function after({ limit, state, now }: Course, elapsed: number): Course {
  const copy = limit.algorithm.copyState(state);
  limit.algorithm.advance(copy, limit.quota, elapsed, now + elapsed);
  return { limit, state: copy, now: now + elapsed };
}

function waitOf({ limit, state }: Course, cost: number): number {
  return limit.algorithm.waitTime(state, limit.quota, cost);
}

function reportOf({ limit, state }: Course): LimitReport {
  return limit.algorithm.report(state, limit.quota);
}

/** The course after a cost was charged. */
function charged(course: Course, cost: number): Course {
  const next = after(course, 0);
  course.limit.algorithm.spend(next.state, course.limit.quota, cost);
  return next;
}

/** The course after a refund, and whether anything was given back. */
function refunded(course: Course, cost: number, age: number): [Course, boolean] {
  const next = after(course, 0);
  return [next, course.limit.algorithm.refund(next.state, course.limit.quota, cost, age)];
}

function costOf({ limit }: Course, share: number): number {
  return Math.max(1, Math.round(share * limit.limit));
}

/** At most 35 years at once: a clock in microseconds is exact to the year 2255. */
function elapsedOf({ limit }: Course, rest: number): number {
  return Math.min(Math.round(rest * limit.windowMs * 1_000), 2 ** 50);
}

/** Applies a history of moves. Each admitted request is charged. */
function live(course: Course, history: readonly Move[]): Course {
  return history.reduce(
    (current, { rest, share }) => {
      const next = after(current, elapsedOf(current, rest));
      const cost = costOf(next, share);
      return waitOf(next, cost) === 0 ? charged(next, cost) : next;
    },
    after(course, 0),
  );
}

/** Whole numbers from 1 to a bound, of every length. */
function counts(max: number): fc.Arbitrary<number> {
  return fc
    .integer({ min: 1, max: Math.floor(Math.log2(max)) + 1 })
    .chain((bits) => fc.integer({ min: 1, max: Math.min(max, 2 ** bits) }));
}

const windows = fc.oneof(
  fc.constantFrom(1, 7, 1_000, 60_000, 86_400_000, 366 * 86_400_000),
  counts(366 * 86_400_000),
);

const quotas = windows.chain((window) =>
  fc.record({
    window: fc.constant(window),
    limit: counts(Math.min(1_000_000_000, window * 1_000)),
    most: counts(1_000_000_000),
    buckets: fc.integer({ min: 2, max: 60 }),
  }),
);

const history = fc.array(
  fc.record({
    rest: fc.oneof(fc.constantFrom(0, 1, 0.5), fc.double({ min: 0, max: 0.3, noNaN: true })),
    share: fc.oneof(fc.constantFrom(0, 1, 0.5), fc.double({ min: 0, max: 0.6, noNaN: true })),
  }),
  { maxLength: 12 },
);

const subjects: Record<string, fc.Arbitrary<Limit>> = {
  gcra: quotas.map(({ window, limit, most }) => ({
    algorithm: "gcra",
    limit,
    window,
    burst: most,
  })),
  tokenBucket: quotas.map(({ window, limit, most }) => ({
    algorithm: "tokenBucket",
    capacity: most,
    refill: limit,
    every: window,
  })),
  "fixedWindow from the first request": quotas.map(({ window, limit }) => ({
    algorithm: "fixedWindow",
    limit,
    window,
  })),
  "fixedWindow by the clock": quotas.map(({ window, limit }) => ({
    algorithm: "fixedWindow",
    limit,
    window,
    align: "clock",
  })),
  "slidingWindow of two windows": quotas.map(({ window, limit }) => ({
    algorithm: "slidingWindow",
    limit,
    window,
  })),
  "slidingWindow of sub-windows": quotas.map(({ window, limit, buckets }) => ({
    algorithm: "slidingWindow",
    limit,
    window,
    buckets,
  })),
  slidingLog: quotas.map(({ window, limit }) => ({
    algorithm: "slidingLog",
    limit: Math.min(limit, 1_000_000),
    window,
  })),
};

const share = fc.double({ min: 0, max: 1, noNaN: true });
const rest = fc.double({ min: 0, max: 2.5, noNaN: true });
const runs = { numRuns: 400 };

describe.each(Object.entries(subjects))("%s", (_, limits) => {
  const lives = fc.tuple(limits, history).map(([limit, moves]) => ({
    course: live(begin(limit), moves),
    toString: () => JSON.stringify({ limit, moves }),
  }));

  test.prop([limits], runs)("a new state is unused", (limit) => {
    const course = after(begin(limit), 0);
    expect(reportOf(course)).toEqual({
      remaining: course.limit.limit,
      resetAfter: 0,
      refillAfter: 0,
    });
    expect(waitOf(course, course.limit.limit)).toBe(0);
    expect(waitOf(course, course.limit.limit + 1)).toBe(NEVER);
  });

  test.prop([lives, rest, rest], runs)(
    "takes time in two pieces as it takes it in one",
    ({ course }, first, second) => {
      const [a, b] = [elapsedOf(course, first), elapsedOf(course, second)];
      const once = after(course, a + b);
      const twice = after(after(course, a), b);
      expect(reportOf(twice)).toEqual(reportOf(once));
      for (const part of [0, 0.5, 1]) {
        expect(waitOf(twice, costOf(twice, part))).toBe(waitOf(once, costOf(once, part)));
      }
    },
  );

  test.prop([lives, share], runs)(
    "admits after the wait it tells, and not a microsecond before",
    ({ course }, part) => {
      const cost = costOf(course, part);
      const wait = waitOf(course, cost);
      expect(wait).toBeGreaterThanOrEqual(0);
      if (wait === 0 || wait === MAX_MICROS) return;
      expect(waitOf(after(course, wait), cost)).toBe(0);
      expect(waitOf(after(course, wait - 1), cost)).toBe(1);
    },
  );

  test.prop([lives], runs)("the report has exactly the units that can be spent", ({ course }) => {
    const { remaining } = reportOf(course);
    expect(remaining).toBeGreaterThanOrEqual(0);
    expect(waitOf(course, remaining + 1)).not.toBe(0);
    if (remaining > 0) expect(waitOf(course, remaining)).toBe(0);
  });

  test.prop([lives], runs)(
    "a state is equivalent to an unused one after resetAfter, and not before",
    ({ course }) => {
      const { resetAfter, remaining } = reportOf(course);
      if (resetAfter === 0) expect(remaining).toBe(course.limit.limit);
      if (resetAfter === 0 || resetAfter === MAX_MICROS) return;
      expect(reportOf(after(course, resetAfter))).toEqual({
        remaining: course.limit.limit,
        resetAfter: 0,
        refillAfter: 0,
      });
      expect(reportOf(after(course, resetAfter - 1)).resetAfter).toBe(1);
    },
  );

  test.prop([lives], runs)("more units remain after refillAfter, and not before", ({ course }) => {
    const { refillAfter, remaining, resetAfter } = reportOf(course);
    expect(refillAfter > 0).toBe(resetAfter > 0);
    if (refillAfter === 0 || refillAfter === MAX_MICROS) return;
    expect(reportOf(after(course, refillAfter)).remaining).toBeGreaterThan(remaining);
    expect(reportOf(after(course, refillAfter - 1)).remaining).toBe(remaining);
  });

  test.prop([lives, share], runs)(
    "a change to a copy leaves the state unchanged",
    ({ course }, part) => {
      const before = reportOf(course);
      const copy = after(course, 0);
      const cost = costOf(course, part);
      if (waitOf(copy, cost) === 0)
        course.limit.algorithm.spend(copy.state, course.limit.quota, cost);
      after(copy, elapsedOf(course, 0.5));
      expect(reportOf(course)).toEqual(before);
    },
  );

  test.prop([lives, share], runs)(
    "an immediate refund returns the whole charge",
    ({ course }, part) => {
      const cost = costOf(course, part);
      if (waitOf(course, cost) !== 0) return;
      const [back, given] = refunded(charged(course, cost), cost, 0);
      expect(given).toBe(true);
      expect(reportOf(back)).toEqual(reportOf(course));
    },
  );

  test.prop([lives, share, rest], runs)(
    "leaves no more room by a refund than if it had not been asked",
    ({ course }, part, passed) => {
      const cost = costOf(course, part);
      if (waitOf(course, cost) !== 0) return;
      const age = elapsedOf(course, passed);
      const unasked = after(course, age);
      const asked = after(charged(course, cost), age);
      const [back, given] = refunded(asked, cost, age);
      expect(reportOf(back).remaining).toBeLessThanOrEqual(reportOf(unasked).remaining);
      if (!given) expect(reportOf(back)).toEqual(reportOf(asked));
      else expect(reportOf(back).remaining).toBeGreaterThanOrEqual(reportOf(asked).remaining);
    },
  );

  test.prop([lives, share, share, history, rest], runs)(
    "leaves no more room by giving a part back than if that part had not been asked",
    ({ course }, part, kept, moves, passed) => {
      const cost = costOf(course, part);
      const back = Math.max(1, Math.floor(kept * cost));
      if (waitOf(course, cost) !== 0 || back === cost) return;
      // Others charge before and after at the same moment; what is admitted beside the whole cost fits beside less of it.
      let asked = charged(course, cost);
      let spared = charged(course, cost - back);
      for (const { rest: pause, share: other } of [{ rest: 0, share: part }, ...moves]) {
        const elapsed = elapsedOf(course, pause);
        [asked, spared] = [after(asked, elapsed), after(spared, elapsed)];
        const more = costOf(course, other);
        if (waitOf(asked, more) !== 0) continue;
        expect(waitOf(spared, more)).toBe(0);
        [asked, spared] = [charged(asked, more), charged(spared, more)];
      }
      const end = elapsedOf(course, passed);
      [asked, spared] = [after(asked, end), after(spared, end)];
      const [left, given] = refunded(asked, back, asked.now - course.now);
      expect(reportOf(left).remaining).toBeLessThanOrEqual(reportOf(spared).remaining);
      if (!given) expect(reportOf(left)).toEqual(reportOf(asked));
      else expect(reportOf(left).remaining).toBeGreaterThanOrEqual(reportOf(asked).remaining);
    },
  );
});
