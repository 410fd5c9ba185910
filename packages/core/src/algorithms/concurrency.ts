import type { ConcurrencyLimit, WithoutPer, WithPer } from "../common/policy.ts";
import type { CheckedDuration } from "../common/time.ts";
import type { Algorithm, CompiledAlgorithm } from "./algorithm.ts";
import { NEVER } from "./exact.ts";
import { readCount, readWindow, requireShape } from "./read-limit.ts";

/*
 * Concurrency: at most `limit` places taken at the same time. Twin of concurrency.lua.
 *
 * State  taken: how many places are taken.
 *        holders: who holds places, until when, and how many; the holder whose places expire first comes first.
 *        last: until when the last of them is held.
 *        clock: microseconds on the places' own clock, which starts with the first of them.
 * Quota  limit. ttl: microseconds for which a place is held unless it is renewed.
 */
interface Slots {
  taken: number;
  readonly holders: Map<string, Held>;
  last: number;
  clock: number;
}

interface Held {
  readonly until: number;
  readonly number: number;
}

interface SlotsQuota {
  readonly limit: number;
  readonly ttl: number;
}

/** The largest limit: every decision reads all slots of a subject. */
const MAX_LIMIT = 10_000;

/** In microseconds. There is no way to know when a slot comes free, so a denied subject is asked to retry after a second. */
const RETRY = 1_000_000;

/** For a state that a script returned, only the number of slots in use is known. */
const UNKNOWN: Map<string, Held> = new Map();

const slots: Algorithm<Slots, SlotsQuota> = {
  fresh: () => ({ taken: 0, holders: new Map(), last: 0, clock: 0 }),

  read: ([taken]) => ({ taken: taken as number, holders: UNKNOWN, last: 0, clock: 0 }),

  // `spend` needs no holder.
  copy: (state) => ({ ...state }),

  advance(state, _, elapsed) {
    state.clock += elapsed;
    for (const [holder, { until }] of state.holders) {
      if (until > state.clock) break;
      slots.leave?.(state, holder);
    }
    if (state.taken === 0) state.clock = 0;
  },

  wait(state, quota, cost) {
    if (cost > quota.limit) return NEVER;
    return state.taken + cost <= quota.limit ? 0 : RETRY;
  },

  spend(state, _, cost) {
    state.taken += cost;
  },

  refund: () => false,

  report: (state, quota) => ({ remaining: quota.limit - state.taken, reset: 0, growth: 0 }),

  entries: (state) => state.taken,

  lasts: (state) => (state.taken === 0 ? 0 : state.last - state.clock),

  hold(state, quota, holder, number) {
    state.last = state.clock + quota.ttl;
    state.holders.set(holder, { until: state.last, number });
    state.taken += number;
  },

  leave(state, holder) {
    const { number } = state.holders.get(holder) ?? { number: 0 };
    state.holders.delete(holder);
    state.taken -= number;
    return number;
  },
};

/**
 * At most `limit` (0 to 10,000) requests at the same time. A request holds its slot until it ends; a slot that is not renewed
 * is free again after `ttl` (1 ms to 366 days).
 *
 * A limiter that uses an invalid limit throws `HEADGATE_INVALID_LIMIT`.
 */
export function concurrency<const Text extends string = string>(
  options: WithoutPer<ConcurrencyLimit<never>> & { readonly ttl: CheckedDuration<Text> },
): ConcurrencyLimit<never>;
export function concurrency<const Per extends string, const Text extends string = string>(
  options: WithPer<ConcurrencyLimit<Per>> & { readonly ttl: CheckedDuration<Text> },
): ConcurrencyLimit<Per>;
export function concurrency<const Text extends string = string>(
  options: Omit<ConcurrencyLimit, "algorithm"> & { readonly ttl: CheckedDuration<Text> },
): ConcurrencyLimit;
export function concurrency(options: Omit<ConcurrencyLimit, "algorithm">): ConcurrencyLimit {
  return { algorithm: "concurrency", ...options };
}

export function compileConcurrency(limit: ConcurrencyLimit): CompiledAlgorithm<Slots, SlotsQuota> {
  requireShape(limit, ["limit", "ttl"]);
  const count = readCount(limit, "limit", MAX_LIMIT, 0);
  const ttl = readWindow(limit, "ttl");
  return {
    algorithm: slots,
    quota: { limit: count, ttl },
    numbers: [count],
    shape: {
      id: `concurrency(${ttl})`,
      part: "concurrency",
      state: [
        ["count", 4],
        ["clock", 7],
      ],
      numbers: ["limit"],
      locals: ["length", "places", "from", "leave", "hold"],
      reported: ["taken"],
      constants: { PERIOD: String(ttl) },
      hasLog: true,
      heldFor: ttl,
    },
    name: `${count}-at-once`,
    limit: count,
    windowMs: 0,
    canonical: `concurrency(${count},${ttl})`,
  };
}
