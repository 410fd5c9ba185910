import { formatReceived, invalidOption } from "../common/errors.ts";
import type { BlockOn, Limit } from "../common/policy.ts";
import { parseDuration } from "../common/time.ts";
import { isPlainObject } from "../common/type-guards.ts";
import type { Algorithm, BlockRule, CompiledLimit } from "./algorithm.ts";
import { numbersIn, recoveryTimeOf } from "./algorithm.ts";
import { rejectLimit } from "./read-limit.ts";

/* Blocks: set by a denial, by the last of several denials, or by confirmed charges. Twin of blocks.lua. */

/** The most block lengths in a list; MAX_LEVELS in the scripts. */
export const MAX_LEVELS = 16;

/** The most denials before a block: 3 digits of 7 bits in the scripts, and 3 bytes of state. */
const MAX_DENIALS = 1_000_000;

/** The most units that a limit can hold; MAX_UNITS in the scripts. */
export const MAX_UNITS_PER_LIMIT = 2_000_000_000;

/**
 * A limit with its option `block`. Whether and on what a limit blocks is part of its shape. The number of denials and the block
 * lengths are not: when they change, the count continues. Throws `HEADGATE_INVALID_LIMIT`, and `HEADGATE_INVALID_OPTION` for a
 * limit other than `fixedWindow` that should block on confirmed charges.
 */
export function withBlock(limit: Limit, compiled: CompiledLimit, blockOn: BlockOn): CompiledLimit {
  if (limit.algorithm === "concurrency" || limit.block === undefined) return compiled;
  const block = readBlockRule(limit, limit.block, recoveryTimeOf(limit, compiled));
  const { shape, canonical } = compiled;
  const blocking: CompiledLimit = {
    ...compiled,
    block,
    shape: { ...shape, id: `${shape.id}!`, blocksOnDenial: true },
    canonical: `${canonical}!(${block.durations})`,
  };
  if (block.after !== undefined) return withCountedDenials(blocking, block.after);
  return blockOn === "settle" ? withConfirmedUnits(blocking) : blocking;
}

function readBlockRule(limit: Limit, block: unknown, quietPeriod: number): BlockRule {
  if (!isPlainObject(block))
    return { durations: readDurations(limit, "block", block), quietPeriod };
  const { after, for: lengths, ...others } = block;
  for (const option of Object.keys(others)) {
    rejectLimit(limit, `block: unknown option ${formatReceived(option)}; it takes after, for`);
  }
  if (!Number.isInteger(after) || (after as number) < 1 || (after as number) > MAX_DENIALS) {
    rejectLimit(
      limit,
      `block: after must be a whole number of denials from 1 to ${MAX_DENIALS}, got ${formatReceived(after)}`,
    );
  }
  return {
    durations: readDurations(limit, "block: for", lengths),
    quietPeriod,
    after: after as number,
  };
}

function readDurations(limit: Limit, option: string, durations: unknown): number[] {
  const list: readonly unknown[] = Array.isArray(durations) ? durations : [durations];
  if (list.length < 1 || list.length > MAX_LEVELS) {
    rejectLimit(
      limit,
      `${option} must be a duration or a list of 1 to ${MAX_LEVELS}, got ${formatReceived(durations)}`,
    );
  }
  // By index, so that a hole in the list is an error too.
  return Array.from({ length: list.length }, (_, i) =>
    parseDuration(list[i], `${limit.algorithm}: ${option}`, "HEADGATE_INVALID_LIMIT"),
  );
}

/**
 * The denials that a limit counts until it blocks, in addition to its units.
 *
 * State denials: denials counted since the first one that is not forgotten. forgetsIn: microseconds until they are
 * forgotten; 0 if there are none.
 */
interface DenialCount {
  denials: number;
  forgetsIn: number;
}

const NO_DENIALS: DenialCount = { denials: 0, forgetsIn: 0 };

function withCountedDenials(compiled: CompiledLimit, after: number): CompiledLimit {
  const { algorithm, shape, canonical } = compiled;
  const at = shape.reported === undefined ? shape.state.length : undefined;
  return {
    ...compiled,
    algorithm: countDenials(algorithm as Algorithm<DenialCount, unknown>, at, numbersIn(shape)),
    shape: {
      ...shape,
      id: `${shape.id}after`,
      state: [...shape.state, ["denials", 3], ["forgetsIn", 6]],
      countsDenials: true,
    },
    canonical: `${canonical}after ${after}`,
  };
}

/**
 * `at`: the index of these numbers in a state that is read; undefined if the script reports other numbers. `size`: how many numbers
 * the state has without them.
 */
function countDenials(
  limit: Algorithm<DenialCount, unknown>,
  at: number | undefined,
  size: number,
): Algorithm<DenialCount, unknown> {
  const { loadState, storeState } = limit;
  return {
    ...limit,

    createState: (quota) => ({ ...limit.createState(quota), ...NO_DENIALS }),

    ...(loadState !== undefined &&
      storeState !== undefined && {
        loadState(state, from, first) {
          loadState(state, from, first);
          state.denials = from[first + size] as number;
          state.forgetsIn = from[first + size + 1] as number;
        },
        storeState(state, to, first) {
          storeState(state, to, first);
          to[first + size] = state.denials;
          to[first + size + 1] = state.forgetsIn;
        },
      }),

    readState(numbers, quota, now) {
      if (at === undefined) return { ...limit.readState(numbers, quota, now), ...NO_DENIALS };
      const own = [...numbers];
      const [denials, forgetsIn] = own.splice(at, 2) as [number, number];
      return { ...limit.readState(own, quota, now), denials, forgetsIn };
    },

    advance(state, quota, elapsed, now) {
      limit.advance(state, quota, elapsed, now);
      state.forgetsIn = Math.max(0, state.forgetsIn - elapsed);
      if (state.forgetsIn === 0) state.denials = 0;
    },

    lastsFor: (state, reset) => Math.max(limit.lastsFor?.(state, reset) ?? reset, state.forgetsIn),

    countDenial(state, { after = 1, quietPeriod }) {
      if (state.denials === 0) state.forgetsIn = quietPeriod;
      state.denials = Math.min(after, state.denials + 1);
      return state.denials === after;
    },
  };
}

/**
 * The units confirmed in a window, in addition to the units used.
 *
 * State confirmed: units of the window that were settled and can no longer be refunded.
 */
interface ConfirmedWindow {
  used: number;
  confirmed: number;
}

function withConfirmedUnits(compiled: CompiledLimit): CompiledLimit {
  const { algorithm, shape, canonical, source, name } = compiled;
  if (source.algorithm !== "fixedWindow") {
    throw invalidOption(
      `count and blockOn: "settle" can be used with block only where the limit is a fixedWindow; the limit ${formatReceived(name)} is a ${source.algorithm}. Use a fixedWindow, or block: { after, for }, or leave them out and refund requests that should not count: limit.decisionOf(request).refund(). For failures in a sliding window, take two limits, as "Failures in a sliding window" of the docs on blocks shows`,
    );
  }
  return {
    ...compiled,
    algorithm: confirmUnits(algorithm as WindowAlgorithm, numbersIn(shape)),
    shape: {
      ...shape,
      id: `${shape.id}kept`,
      state: [...shape.state, ["confirmed", 4]],
      blocksOnDenial: false,
      blocksOnSettle: true,
    },
    canonical: `${canonical}kept`,
  };
}

/** The algorithm of a fixed window, aligned to the calendar or not. */
type WindowAlgorithm = Algorithm<ConfirmedWindow, unknown> &
  Required<Pick<Algorithm<ConfirmedWindow, unknown>, "loadState" | "storeState" | "windowAge">>;

/** `size`: how many numbers the state has without the confirmed units. */
function confirmUnits(window: WindowAlgorithm, size: number): Algorithm<ConfirmedWindow, unknown> {
  return {
    ...window,

    createState: (quota) => ({ ...window.createState(quota), confirmed: 0 }),

    loadState(state, from, at) {
      window.loadState(state, from, at);
      state.confirmed = from[at + size] as number;
    },

    storeState(state, to, at) {
      window.storeState(state, to, at);
      to[at + size] = state.confirmed;
    },

    readState: (numbers, quota, now) => ({
      ...window.readState(numbers, quota, now),
      confirmed: numbers.at(-1) as number,
    }),

    advance(state, quota, elapsed, now) {
      window.advance(state, quota, elapsed, now);
      if (state.used === 0) state.confirmed = 0; // a new window
    },

    // Counts in the window in which it is confirmed, so a client gains nothing by delaying responses until the next window.
    confirm(state, _, units, charged, age) {
      const isInWindow = age <= window.windowAge(state);
      if (!isInWindow)
        state.used = Math.min(MAX_UNITS_PER_LIMIT, state.used + Math.min(charged, units));
      state.confirmed = Math.min(MAX_UNITS_PER_LIMIT, state.confirmed + units);
    },

    confirmedUnits: ({ confirmed }) => confirmed,
  };
}
