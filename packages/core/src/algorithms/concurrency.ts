import type { ConcurrencyLimit, WithoutPer, WithPer } from "../common/policy.ts";
import type { CheckedDuration } from "../common/time.ts";
import type { Algorithm, CompiledAlgorithm } from "./algorithm.ts";
import { NEVER } from "./exact-arithmetic.ts";
import { readCount, readWindow, requireKnownOptions } from "./read-limit.ts";

/*
 * Concurrency: at most `limit` slots held at the same time. Twin of concurrency.lua.
 *
 * State  taken: the number of held slots.
 *        holders: the slots of each holder. The holder whose slots expire first comes first.
 *        lastUntil: the time until which the last of them is held.
 *        clock: microseconds on the clock of the slots, which starts with the first of them.
 * Quota  limit. ttl: microseconds for which a slot is held unless it is renewed.
 */
interface ConcurrencyState {
  taken: number;
  readonly holders: Map<string, HeldSlots>;
  lastUntil: number;
  clock: number;
}

interface HeldSlots {
  readonly heldUntil: number;
  readonly count: number;
}

interface ConcurrencyQuota {
  readonly limit: number;
  readonly ttl: number;
}

/** The largest limit. Every decision reads all slots of a subject. */
const MAX_LIMIT = 10_000;

/** The wait after a denial: one second, because there is no way to know when a slot becomes free. */
const RETRY_MICROS = 1_000_000;

/** A script returns only the number of held slots, not their holders. */
const UNKNOWN_HOLDERS: Map<string, HeldSlots> = new Map();

const slots: Algorithm<ConcurrencyState, ConcurrencyQuota> = {
  createState: () => ({ taken: 0, holders: new Map(), lastUntil: 0, clock: 0 }),

  readState: ([taken]) => ({
    taken: taken as number,
    holders: UNKNOWN_HOLDERS,
    lastUntil: 0,
    clock: 0,
  }),

  // `spend` needs no holder.
  copyState: (state) => ({ ...state }),

  advance(state, _, elapsed) {
    state.clock += elapsed;
    for (const [holder, { heldUntil }] of state.holders) {
      if (heldUntil > state.clock) break;
      slots.releaseSlots?.(state, holder);
    }
    if (state.taken === 0) state.clock = 0;
  },

  waitTime(state, quota, cost) {
    if (cost > quota.limit) return NEVER;
    return state.taken + cost <= quota.limit ? 0 : RETRY_MICROS;
  },

  spend(state, _, cost) {
    state.taken += cost;
  },

  refund: () => false,

  report: (state, quota) => ({
    remaining: quota.limit - state.taken,
    resetAfter: 0,
    refillAfter: 0,
  }),

  entryCount: (state) => state.taken,

  lastsFor: (state) => (state.taken === 0 ? 0 : state.lastUntil - state.clock),

  acquireSlots(state, quota, holder, count) {
    state.lastUntil = state.clock + quota.ttl;
    state.holders.set(holder, { heldUntil: state.lastUntil, count });
    state.taken += count;
  },

  releaseSlots(state, holder) {
    const { count } = state.holders.get(holder) ?? { count: 0 };
    state.holders.delete(holder);
    state.taken -= count;
    return count;
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

export function compileConcurrency(
  limit: ConcurrencyLimit,
): CompiledAlgorithm<ConcurrencyState, ConcurrencyQuota> {
  requireKnownOptions(limit, ["limit", "ttl"]);
  const count = readCount(limit, "limit", MAX_LIMIT, 0);
  const ttl = readWindow(limit, "ttl");
  return {
    algorithm: slots,
    quota: { limit: count, ttl },
    parameters: [count],
    shape: {
      id: `concurrency(${ttl})`,
      luaFile: "concurrency",
      state: [
        ["count", 4],
        ["clock", 7],
      ],
      parameters: ["limit"],
      locals: ["length", "slots", "from", "release", "acquire"],
      reported: ["taken"],
      constants: { PERIOD: String(ttl) },
      hasLog: true,
      slotTtl: ttl,
    },
    name: `${count}-at-once`,
    limit: count,
    windowMs: 0,
    canonical: `concurrency(${count},${ttl})`,
  };
}
