import type { CheckedWindow, SlidingLogLimit, WithoutPer, WithPer } from "../common/policy.ts";
import { formatDuration, toMilliseconds } from "../common/time.ts";
import type { Algorithm, CompiledAlgorithm } from "./algorithm.ts";
import { NEVER } from "./exact-arithmetic.ts";
import { readRate, readWindow, requireKnownOptions } from "./read-limit.ts";

/*
 * Sliding log: every admitted request in (now - window, now]. Twin of sliding-log.lua.
 *
 * State  entries: one per admitted decision, oldest first, each the time it came and the running total of units through it.
 *        base: the running total before the oldest. total: the running total through the newest.
 *        clock: microseconds on the log's own clock, which starts with its first entry and never steps back.
 * Quota  limit. window: microseconds.
 *
 * Reported times are never negative, and a denial always has a wait: an entry that does not fit in its log must not look
 * like an admission.
 */
interface SlidingLogState {
  readonly entries: LogEntries;
  base: number;
  total: number;
  clock: number;
}

interface SlidingLogQuota {
  readonly limit: number;
  readonly window: number;
}

/** The largest limit of a log, to bound the entries in one key. */
const MAX_LIMIT = 1_000_000;

/** The most entries that a refund reads and rewrites. */
const MAX_REFUND_ENTRIES = 1_000;

const log: Algorithm<SlidingLogState, SlidingLogQuota> = {
  createState: () => ({ entries: createLogEntries(), base: 0, total: 0, clock: 0 }),

  // The script reports the units used, and the ages of three entries that stand for all.
  readState([used, grows, newest, frees], quota) {
    const total = used as number;
    if (total === 0) return log.createState(quota);
    const times = [grows, frees, newest].map((age) => 0 - (age as number));
    const entries = createLogEntries(times, [Math.max(0, total - quota.limit) + 1, total, total]);
    return { entries, base: 0, total, clock: 0 };
  },

  copyState: (state) => ({ ...state, entries: state.entries.copy() }),

  advance(state, quota, elapsed) {
    const { entries } = state;
    state.clock += elapsed;
    const horizon = state.clock - quota.window;
    const expired = countLeading(entries.count(), (i) => entries.time(i) <= horizon);
    if (expired > 0) {
      state.base = entries.total(expired);
      entries.drop(expired);
    }
    if (entries.count() === 0) {
      state.base = 0;
      state.total = 0;
      state.clock = 0;
    }
  },

  waitTime(state, quota, cost) {
    if (cost > quota.limit) return NEVER;
    const excess = state.total - state.base + cost - quota.limit;
    if (excess <= 0) return 0;
    const { entries, base } = state;
    const short = countLeading(entries.count() - 1, (i) => entries.total(i) - base < excess);
    return Math.max(1, entries.time(short + 1) + quota.window - state.clock);
  },

  spend(state, _, cost) {
    state.total += cost;
    state.entries.append(state.clock, state.total);
  },

  // Units charged at the same time are interchangeable, so the newest ones of that time are removed, whichever decision charged
  // them.
  refund(state, _, cost, age) {
    const { entries } = state;
    const time = state.clock - age;
    const count = entries.count();
    const oldest = Math.max(1, count - MAX_REFUND_ENTRIES);
    let newest = count;
    while (newest >= oldest && entries.time(newest) > time) newest -= 1;
    if (newest < oldest || entries.time(newest) !== time) return false;
    const before = (i: number) => (i > 1 ? entries.total(i - 1) : state.base);
    // The running total through that time without the units, and the last entry that will still count towards it.
    const left = entries.total(newest) - cost;
    let last = newest;
    while (before(last) > left) {
      last -= 1;
      if (last < oldest || entries.time(last) !== time) return false;
    }
    if (left > before(last)) entries.set(last, time, left);
    else last -= 1;
    const gone = newest - last;
    for (let newer = newest + 1; newer <= count; newer += 1) {
      entries.set(newer - gone, entries.time(newer), entries.total(newer) - cost);
    }
    for (let i = 0; i < gone; i += 1) entries.pop();
    state.total -= cost;
    return true;
  },

  report(state, quota) {
    const { entries } = state;
    const remaining = quota.limit - (state.total - state.base);
    const count = entries.count();
    if (count === 0) return { remaining, resetAfter: 0, refillAfter: 0 };
    const over = state.base + Math.max(0, 0 - remaining);
    const first = 1 + countLeading(count - 1, (i) => entries.total(i) <= over);
    const ahead = quota.window - state.clock;
    return {
      remaining,
      resetAfter: Math.max(0, entries.time(count) + ahead),
      refillAfter: Math.max(0, entries.time(first) + ahead),
    };
  },

  entryCount: (state) => state.entries.count(),
};

/** How many leading entries satisfy a condition that stays false once it is false. O(log answer). */
function countLeading(count: number, holds: (i: number) => boolean): number {
  let low = 0;
  let high = 1;
  while (high <= count && holds(high)) {
    low = high;
    high *= 2;
  }
  high = Math.min(high, count + 1);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * A limit of `limit` units (0 to 10^6, at most 10^6 per second) in every window `(now - window, now]`, exactly
 * (`window` 1 ms to 366 days). Costs 13 bytes of Redis for each admitted decision in the window.
 *
 * A limiter that uses an invalid limit throws `HEADGATE_INVALID_LIMIT`.
 */
export function slidingLog<const Text extends string = string>(
  options: WithoutPer<SlidingLogLimit<never>> & CheckedWindow<Text>,
): SlidingLogLimit<never>;
export function slidingLog<const Per extends string, const Text extends string = string>(
  options: WithPer<SlidingLogLimit<Per>> & CheckedWindow<Text>,
): SlidingLogLimit<Per>;
export function slidingLog<const Text extends string = string>(
  options: Omit<SlidingLogLimit, "algorithm"> & CheckedWindow<Text>,
): SlidingLogLimit;
export function slidingLog(options: Omit<SlidingLogLimit, "algorithm">): SlidingLogLimit {
  return { algorithm: "slidingLog", ...options };
}

export function compileSlidingLog(
  limit: SlidingLogLimit,
): CompiledAlgorithm<SlidingLogState, SlidingLogQuota> {
  requireKnownOptions(limit, ["limit", "window"]);
  const window = readWindow(limit, "window");
  const count = readRate(limit, "limit", window, "window", MAX_LIMIT);
  return {
    algorithm: log,
    quota: { limit: count, window },
    parameters: [count],
    shape: {
      id: `slidingLog(${window})`,
      luaFile: "sliding-log",
      state: [
        ["first", 4],
        ["count", 4],
        ["size", 4],
        ["base", 6],
        ["total", 6],
        ["clock", 7],
      ],
      parameters: ["limit"],
      locals: ["length", "times", "totals", "ends", "entry", "leading", "at", "tail", "isResized"],
      reported: ["used", "grows", "newest", "frees"],
      constants: { PERIOD: String(window) },
      hasLog: true,
    },
    name: `${count}-per-${formatDuration(window)}`,
    limit: count,
    windowMs: toMilliseconds(window),
    canonical: `slidingLog(${count},${window})`,
  };
}

/** The entries of a sliding log, oldest first, numbered from 1 as in the Lua twin. */
export interface LogEntries {
  count(): number;
  /** The arrival time of entry `i`, in microseconds on the log's clock. */
  time(i: number): number;
  /** The running total of units through entry `i`. */
  total(i: number): number;
  append(time: number, total: number): void;
  set(i: number, time: number, total: number): void;
  /** Removes the newest entry. */
  pop(): void;
  /** Removes the `count` oldest entries. */
  drop(count: number): void;
  /** A copy to append to, valid while this log does not change. */
  copy(): LogEntries;
}

/** Entries in this process: two arrays, whose unused front is cut off once it is the larger part. O(1) for each entry. */
export function createLogEntries(times: number[] = [], totals: number[] = []): LogEntries {
  let first = 0;

  return {
    count: () => times.length - first,
    time: (i) => times[first + i - 1] as number,
    total: (i) => totals[first + i - 1] as number,

    append(time, total) {
      times.push(time);
      totals.push(total);
    },

    set(i, time, total) {
      times[first + i - 1] = time;
      totals[first + i - 1] = total;
    },

    pop() {
      times.pop();
      totals.pop();
    },

    drop(count) {
      first += count;
      if (first * 2 <= times.length) return;
      times = times.slice(first);
      totals = totals.slice(first);
      first = 0;
    },

    copy() {
      return createCopy(this, () => createLogEntries(times.slice(first), totals.slice(first)));
    },
  };
}

/** A copy that reads the original until it is used for anything but appending, so that a peek copies nothing. */
function createCopy(original: LogEntries, duplicate: () => LogEntries): LogEntries {
  const originalCount = original.count();
  const added = createLogEntries();
  let own: LogEntries | undefined;

  function detach(): LogEntries {
    if (own !== undefined) return own;
    own = duplicate();
    for (let i = 1; i <= added.count(); i += 1) own.append(added.time(i), added.total(i));
    return own;
  }

  return {
    count: () => own?.count() ?? originalCount + added.count(),
    time: (i) =>
      own?.time(i) ?? (i <= originalCount ? original.time(i) : added.time(i - originalCount)),
    total: (i) =>
      own?.total(i) ?? (i <= originalCount ? original.total(i) : added.total(i - originalCount)),
    append: (time, total) => (own ?? added).append(time, total),
    set: (i, time, total) => detach().set(i, time, total),
    pop: () => detach().pop(),
    drop: (count) => detach().drop(count),
    copy() {
      return detach().copy();
    },
  };
}
