import type { BlockRule, CompiledLimit } from "../algorithms/algorithm.ts";
import { COUNT_DIGITS, encodeDigits, LONG_DIGITS, newGeneration } from "../scripts/digits.ts";
import { encodeBlockRules, encodeThresholds } from "../scripts/encode-rules.ts";
import type { MemoryAccess, Operation, OperationContext, Replies } from "../store/store.ts";
import type { Counter } from "./counter.ts";
import {
  costAt,
  counterOperation,
  encodeCosts,
  encodeParameters,
  loadCounter,
  saveReportedCounter,
  scriptsOf,
  weightOf,
} from "./counter.ts";
import type { CounterState } from "./counter-state.ts";
import type { CounterDecision, DecideCall, DecideMode, StoreDecision } from "./decide-call.ts";
import {
  decideCounter,
  grantedUnits,
  isAllowing,
  isCharging,
  spend,
  waitOf,
} from "./decide-call.ts";
import { decodeDecision, decodeUpTo } from "./decode-decision.ts";
import type { Run } from "./list-script.ts";
import { coalesce } from "./list-script.ts";
import type { ThresholdReport } from "./notify-thresholds.ts";
import { notifyThresholds } from "./notify-thresholds.ts";
import { setBlock } from "./set-block.ts";

/** The operation that decides a request in this mode, at its cost or for `upTo` units. */
export function operationFor(
  mode: DecideMode,
  upTo?: number,
): Operation<DecideCall, StoreDecision> {
  if (upTo !== undefined) return isCharging(mode) ? decideUpTo : peekUpTo;
  return isCharging(mode) ? decide : peek;
}

const NONE: readonly never[] = [];

/** Decides requests: a request is charged to all its limits if every one of them allows it, otherwise to none. */
export const decide: Operation<DecideCall, StoreDecision> = {
  ...counterOperation,
  name: "decide",

  encode(calls, compose, clock, times = "") {
    const [first] = calls as [DecideCall];
    const { cost, counters, holder, mode } = first;
    const scripts = scriptsOf(counters);
    if (isSingle(calls)) {
      let digits =
        encodeParameters(counters) + times + encodeRules(counters, mode) + newGeneration();
      // The script assumes a cost of 1 if there is none. A call that takes concurrency slots always sends its cost.
      if (cost !== 1 || holder !== undefined)
        digits += encodeDigits(cost, LONG_DIGITS) + (holder ?? "");
      const script = scripts.get("decide-single", compose);
      return { script, args: clock === "" ? [digits] : [digits, clock] };
    }
    const args = coalesce(calls, isEqualCall).map((run) => encodeDecisions(run, times));
    return { script: scripts.get("decide-batch", compose), args: [clock, ...args] };
  },

  decode: (calls, reply) =>
    isSingle(calls) ? [decodeDecision(calls[0] as DecideCall, reply)] : decodeAll(calls, reply),

  weight: ({ counters }) => weightOf(counters, 4),

  // Logs, slots and threshold marks are written as each call is decided.
  readsFirst: ({ counters }) =>
    counters.every(
      ({ logLimits, notifyingLimits }) => logLimits.length + notifyingLimits.length === 0,
    ),

  runInMemory: decideInMemory,
};

/** Decides without charging, and changes nothing. */
export const peek: Operation<DecideCall, StoreDecision> = {
  ...decide,
  name: "peek",
  encode: (calls, compose, clock, times = "") => ({
    script: scriptsOf((calls[0] as DecideCall).counters).get("peek", compose),
    args: [clock, ...coalesce(calls, hasEqualCosts).map((run) => encodeRun(run, times))],
  }),
  decode: decodeAll,
};

/** Decides requests for as many units as every limit has left, at least 1 and at most `upTo`. */
const decideUpTo: Operation<DecideCall, StoreDecision> = {
  ...decide,
  name: "decide-up-to",
  encode: (calls, compose, clock, times = "") => ({
    script: scriptsOf((calls[0] as DecideCall).counters).get("decide-up-to", compose),
    args: [
      clock,
      ...coalesce(calls.map(atMost), isEqualCall).map((run) => encodeDecisions(run, times)),
    ],
  }),
  decode: decodeAllUpTo,
  runInMemory: decideUpToInMemory,
};

/** Decides requests for up to `upTo` units without charging, and changes nothing. */
const peekUpTo: Operation<DecideCall, StoreDecision> = {
  ...peek,
  name: "peek-up-to",
  decode: decodeAllUpTo,
  runInMemory: decideUpToInMemory,
};

/** A call with the most units as its cost, as the script takes them. */
function atMost(call: DecideCall): DecideCall {
  return { ...call, cost: call.upTo as number };
}

function decodeAllUpTo(calls: readonly DecideCall[], reply: unknown): Replies<StoreDecision> {
  const replies: readonly unknown[] = Array.isArray(reply) ? reply : [];
  return calls.map((call, i) => decodeUpTo(call, replies[i]));
}

/** The twin of the script. Nothing comes between looking at the limits and charging them. */
function decideUpToInMemory(
  call: DecideCall,
  memory: MemoryAccess,
  context: OperationContext,
): StoreDecision {
  const seen = decideInMemory({ ...call, mode: "inspect" }, memory, context);
  const granted = grantedUnits(seen, call.upTo as number);
  if (call.mode === "inspect") return { ...seen, granted };
  return { ...decideInMemory({ ...call, cost: Math.max(1, granted) }, memory, context), granted };
}

/** Whether the script for a single call applies; a cost by name always uses the script for a batch. */
function isSingle(calls: readonly DecideCall[]): boolean {
  return calls.length === 1 && calls[0]?.counters[0]?.costs === undefined;
}

/** The argument for a run of equal calls: the argument of one of them, and their number. */
function encodeRun({ first, count }: Run<DecideCall>, times: string): string {
  const { cost, counters } = first;
  return (
    encodeParameters(counters) +
    times +
    encodeDigits(count, COUNT_DIGITS) +
    encodeCosts(counters, cost)
  );
}

/** The argument for a run of calls that may charge: adds the rules of blocks and the holder of concurrency slots. */
function encodeDecisions(run: Run<DecideCall>, times: string): string {
  const { holder = "" } = run.first;
  return (
    encodeRun(run, times) +
    encodeRules(run.first.counters, run.first.mode) +
    newGeneration() +
    holder
  );
}

/** Whether two calls with the same batch key are decided in the same way. */
function isEqualCall(one: DecideCall, other: DecideCall): boolean {
  return (
    one.holder === other.holder &&
    hasEqualCosts(one, other) &&
    encodeRules(one.counters, one.mode) === encodeRules(other.counters, other.mode)
  );
}

/**
 * The block rules of each limit that blocks on denials, which are empty if this call may not block; then the thresholds of
 * each limit that notifies.
 */
function encodeRules(counters: readonly Counter[], mode: DecideMode): string {
  let rules = "";
  let thresholds = "";
  for (let u = 0; u < counters.length; u += 1) {
    const { shape, limits } = counters[u] as Counter;
    if (shape.blocksOnDenial)
      rules += encodeBlockRules(limits, "blocksOnDenial", mode === "enforce");
    if (shape.notifies) thresholds += encodeThresholds(limits);
  }
  return rules + thresholds;
}

function decodeAll(calls: readonly DecideCall[], reply: unknown): Replies<StoreDecision> {
  const replies: readonly unknown[] = Array.isArray(reply) ? reply : [];
  return calls.map((call, i) => decodeDecision(call, replies[i]));
}

/** Whether two calls on counters of the same shapes have the same costs and parameters. */
function hasEqualCosts(one: DecideCall, other: DecideCall): boolean {
  return (
    one.cost === other.cost &&
    one.counters.every((counter, i) => isEqualCounter(counter, other.counters[i] as Counter))
  );
}

function isEqualCounter(one: Counter, other: Counter): boolean {
  if (one.encodedParameters !== other.encodedParameters) return false;
  return one.costs === undefined || one.costs.every((units, i) => units === other.costs?.[i]);
}

/** The twin of the scripts. */
function decideInMemory(
  { cost, mode, counters, holder }: DecideCall,
  memory: MemoryAccess,
  context: OperationContext,
): StoreDecision {
  const { now } = context;
  // Lists begin with their first element, because V8 is slow to create an array of a length that it learns at run time.
  const states = [loadCounter(counters[0] as Counter, memory, context)];
  for (let u = 1; u < counters.length; u += 1) {
    states.push(loadCounter(counters[u] as Counter, memory, context));
  }
  let allowed = true;
  for (let u = 0; u < counters.length; u += 1) {
    allowed &&= isAllowing(counters[u] as Counter, states[u] as CounterState, cost);
  }
  const mayCharge = isCharging(mode);
  const charges = allowed && mayCharge;
  const mayBlock = !allowed && mode === "enforce";
  // Spending 0 would append an entry to a log.
  const spends = allowed && mode !== "inspect" && cost > 0;
  let decided: CounterDecision[] | undefined;
  let thresholds: ThresholdReport[] | undefined;
  for (let u = 0; u < counters.length; u += 1) {
    const counter = counters[u] as Counter;
    const state = states[u] as CounterState;
    const blocks =
      mayBlock && counter.shape.blocksOnDenial && blockOnDenial(counter, state, cost, context);
    const reported = spends
      ? spend(counter, state.limitStates, cost, charges, holder)
      : state.limitStates;
    const decision = decideCounter(counter, state, cost, allowed, reported);
    if (decided === undefined) decided = [decision];
    else decided.push(decision);
    if (charges && counter.notifyingLimits.length > 0) {
      thresholds ??= [];
      notifyThresholds(thresholds, counter, state, cost);
    }
    // A denial stores a debt that takes longer to drain than under the limits that charged it.
    if (mayCharge) saveReportedCounter(counter, state, decision.limits, charges || blocks, memory);
  }
  return { now, allowed, counters: decided ?? NONE, thresholds: thresholds ?? NONE };
}

/**
 * Blocks a counter that denied a request, if limits that block denied a cost that fits them, often enough. Returns whether that
 * changed the counter.
 */
function blockOnDenial(
  counter: Counter,
  state: CounterState,
  cost: number,
  { generation }: OperationContext,
): boolean {
  let isCounted = false;
  const isExceeded = ({ limit, shape, algorithm, block }: CompiledLimit, i: number) => {
    const isDenied = waitOf(counter, state, i, cost) !== 0 && costAt(counter, i, cost) <= limit;
    if (!isDenied || !shape.blocksOnDenial) return false;
    if (algorithm.countDenial === undefined) return true;
    isCounted = true;
    return algorithm.countDenial(state.limitStates[i], block as BlockRule);
  };
  return setBlock(counter, state, isExceeded, generation) || isCounted;
}
