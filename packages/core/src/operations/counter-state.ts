import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { numbersIn } from "../algorithms/algorithm.ts";
import type { RowFormat } from "../store/memory-table.ts";
import { OBJECT_FORMAT } from "../store/memory-table.ts";
import type { OperationContext } from "../store/store.ts";
import type { Block } from "./block.ts";

/** A counter in this process, with the fields of its value in Redis: see counter.lua. */
export interface CounterState {
  stamp: number;
  generation: number;
  /** When it has fully recovered, by the limits at the last write; microseconds since the epoch. */
  expiresAt: number;
  /** Its rank in an eviction, like the log entries: set before each write. */
  usedShare: number;
  logEntries: number;
  readonly limitStates: unknown[];
  /** Undefined if it is not blocked and no level is remembered. */
  block: Block | undefined;
  /** The threshold marks by the index of their limit; undefined if there are none. */
  thresholdMarks: (ThresholdMark | undefined)[] | undefined;
}

/** The reported thresholds of a limit. thresholds.lua describes the value in Redis. */
export interface ThresholdMark {
  /** The units of the highest reported threshold. */
  readonly units: number;
  /** Microseconds since the epoch until which neither it nor a lower threshold is reported again. */
  readonly endsAt: number;
}

/** The state of a counter that is absent. */
export function createCounterState(
  limits: readonly CompiledLimit[],
  context: OperationContext,
): CounterState {
  const limitStates = limits.map(({ algorithm, quota }) => algorithm.createState(quota));
  return {
    stamp: context.now,
    generation: context.generation,
    expiresAt: Number.POSITIVE_INFINITY,
    usedShare: 0,
    logEntries: 0,
    limitStates,
    block: undefined,
    thresholdMarks: undefined,
  };
}

/**
 * The format of the states of these limits in memory: numbers, with a block or threshold marks as the remainder. A state with a log
 * or slots is stored as an object.
 */
export function createRowFormat(limits: readonly CompiledLimit[]): RowFormat<CounterState> {
  if (limits.some(({ algorithm }) => algorithm.loadState === undefined))
    return OBJECT_FORMAT as RowFormat<CounterState>;
  /** One object for all calls, to save allocations: a call has at most one counter of these limits at a time. */
  const state = createCounterState(limits, { now: 0, generation: 0 });
  const { limitStates } = state;
  let width = STATES;
  const offsets = limits.map(({ shape }) => {
    width += numbersIn(shape);
    return width - numbersIn(shape);
  });
  return {
    width,

    read(numbers, at, expiresAt, remainder) {
      state.stamp = numbers[at] as number;
      state.generation = numbers[at + 1] as number;
      state.expiresAt = expiresAt;
      for (let i = 0; i < limits.length; i += 1) {
        const { algorithm } = limits[i] as CompiledLimit;
        algorithm.loadState?.(limitStates[i], numbers, at + (offsets[i] as number));
      }
      const { block, thresholdMarks } = (remainder ?? NO_REMAINDER) as CounterRemainder;
      state.block = block;
      state.thresholdMarks = thresholdMarks;
      return state;
    },

    write({ stamp, generation, limitStates: written, block, thresholdMarks }, numbers, at) {
      numbers[at] = stamp;
      numbers[at + 1] = generation;
      for (let i = 0; i < limits.length; i += 1) {
        const { algorithm } = limits[i] as CompiledLimit;
        algorithm.storeState?.(written[i], numbers, at + (offsets[i] as number));
      }
      if (block === undefined && thresholdMarks === undefined) return undefined;
      return { block, thresholdMarks } satisfies CounterRemainder;
    },
  };
}

/** The index of the first limit's numbers in a row, after the stamp and the generation. */
const STATES = 2;

/** The fields of a counter's state that are not numbers. */
type CounterRemainder = Pick<CounterState, "block" | "thresholdMarks">;

const NO_REMAINDER: CounterRemainder = { block: undefined, thresholdMarks: undefined };
