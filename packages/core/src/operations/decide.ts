import type { BlockRule, CompiledLimit } from "../algorithms/algorithm.ts";
import { COUNT_DIGITS, digitsOf, LONG_DIGITS, newGeneration } from "../scripts/digits.ts";
import { rulesOf, thresholdsOf } from "../scripts/rule-digits.ts";
import type { Now, Operation, Replies, TwinMemory } from "../store/store.ts";
import type { Block } from "./block.ts";
import { restOf } from "./block.ts";
import type { Run } from "./coalesce.ts";
import { coalesce } from "./coalesce.ts";
import type { Counter, OpenCounter } from "./counter.ts";
import {
  keepReported,
  numbersOf,
  onCounters,
  openCounter,
  reportLimits,
  scriptsOf,
  unitsAt,
  unitsOf,
  weightOf,
} from "./counter.ts";
import type { DecideCall, DecideMode } from "./decide-call.ts";
import { decideOnCounter, denyByBlock, isCharging, readDecision, spend } from "./decide-call.ts";
import { notifyThresholds } from "./notify-thresholds.ts";
import { setBlock } from "./set-block.ts";

/** The step of a request. */
export function stepFor(mode: DecideMode): Operation<DecideCall> {
  return isCharging(mode) ? decide : look;
}

/**
 * Decides requests: if all limits of a decision allow, it is charged to all of them, otherwise to none.
 *
 * A reply is the clock; then for each counter its generation, the microseconds for which it is blocked (0: it is not), and for
 * each of its limits: microseconds to wait (0 allowed, -1 never), units that remain, microseconds until it is as if unused,
 * microseconds until more remain. If it was charged, what that told follows, as operations/notify-thresholds.ts says.
 */
export const decide: Operation<DecideCall> = {
  ...onCounters,
  name: "decide",

  prepare(calls, compose, clock, times = "") {
    const [first] = calls as [DecideCall];
    const { cost, counters, holder, mode } = first;
    const scripts = scriptsOf(counters);
    if (isSingle(calls)) {
      let digits = numbersOf(counters) + times + rulesFor(counters, mode) + newGeneration();
      // A cost of 1 is implied, unless the call takes concurrency slots.
      if (cost !== 1 || holder !== undefined)
        digits += digitsOf(cost, LONG_DIGITS) + (holder ?? "");
      const script = scripts.get("decide-lone", compose);
      return { script, args: clock === "" ? [digits] : [digits, clock] };
    }
    const args = coalesce(calls, isAlike).map((run) => writeDecisions(run, times));
    return { script: scripts.get("decide-batch", compose), args: [clock, ...args] };
  },

  read: (calls, reply) =>
    isSingle(calls) ? [readDecision(calls[0] as DecideCall, reply)] : readAll(calls, reply),

  weight: ({ counters }) => weightOf(counters, 4),

  twin: decideHere,
};

/** Looks at limits, and changes nothing. The reply is that of `decide`. */
export const look: Operation<DecideCall> = {
  ...decide,
  name: "look",
  prepare: (calls, compose, clock, times = "") => ({
    script: scriptsOf((calls[0] as DecideCall).counters).get("look", compose),
    args: [clock, ...coalesce(calls, costsAsMuch).map((run) => writeRun(run, times))],
  }),
  read: readAll,
};

/** Whether the script for a single call applies; a cost by name uses the one for several. */
function isSingle(calls: readonly DecideCall[]): boolean {
  return calls.length === 1 && calls[0]?.counters[0]?.costs === undefined;
}

/** The argument for a run of equal calls: it is passed once, with their number. */
function writeRun({ first, count }: Run<DecideCall>, times: string): string {
  const { cost, counters } = first;
  return numbersOf(counters) + times + digitsOf(count, COUNT_DIGITS) + unitsOf(counters, cost);
}

/** The same for calls that may charge: with the rules of their blocks and, at the end, the holder of concurrency slots. */
function writeDecisions(run: Run<DecideCall>, times: string): string {
  const { holder = "" } = run.first;
  return (
    writeRun(run, times) + rulesFor(run.first.counters, run.first.mode) + newGeneration() + holder
  );
}

/** Whether two calls of one line are decided in the same way. */
function isAlike(one: DecideCall, other: DecideCall): boolean {
  return (
    one.holder === other.holder &&
    costsAsMuch(one, other) &&
    rulesFor(one.counters, one.mode) === rulesFor(other.counters, other.mode)
  );
}

/**
 * The rules by which a denial of this call blocks, one for each limit that blocks, where none do if it may not block; then the
 * thresholds of each limit that notifies.
 */
function rulesFor(counters: readonly Counter[], mode: DecideMode): string {
  let rules = "";
  let thresholds = "";
  for (let u = 0; u < counters.length; u += 1) {
    const { shape, limits } = counters[u] as Counter;
    if (shape.blocks) rules += rulesOf(limits, "blocks", mode === "enforce");
    if (shape.notifies) thresholds += thresholdsOf(limits);
  }
  return rules + thresholds;
}

function readAll(calls: readonly DecideCall[], reply: unknown): Replies {
  const answers: readonly unknown[] = Array.isArray(reply) ? reply : [];
  return calls.map((call, i) => readDecision(call, answers[i]));
}

/** Whether two calls of one line, whose counters have the same shapes, have the same costs and numbers. */
function costsAsMuch(one: DecideCall, other: DecideCall): boolean {
  return (
    one.cost === other.cost &&
    one.counters.every((counter, i) => isAsMuch(counter, other.counters[i] as Counter))
  );
}

function isAsMuch(one: Counter, other: Counter): boolean {
  if (one.numbers !== other.numbers) return false;
  return one.costs === undefined || one.costs.every((units, i) => units === other.costs?.[i]);
}

/** The twin of the scripts. */
function decideHere(
  { cost, mode, counters, holder }: DecideCall,
  memory: TwinMemory,
  moment: Now,
): readonly number[] {
  const opened = new Array<OpenCounter>(counters.length);
  const reply = [moment.now];
  let allowed = true;
  for (let u = 0; u < counters.length; u += 1) {
    const counter = counters[u] as Counter;
    const open = openCounter(counter, memory, moment);
    opened[u] = open;
    if (!decideOnCounter(reply, counter, open, cost)) allowed = false;
  }
  const mayCharge = isCharging(mode);
  const charges = allowed && mayCharge;
  // Spending 0 would append an entry to a log.
  const spends = allowed && mode !== "ask" && cost > 0;
  let told: number[] | undefined;
  let at = 3;
  for (let u = 0; u < counters.length; u += 1) {
    const counter = counters[u] as Counter;
    const open = opened[u] as OpenCounter;
    const { limits, shape } = counter;
    const blocks =
      shape.blocks &&
      !allowed &&
      mode === "enforce" &&
      blockNow(reply, at, counter, open, cost, moment);
    const states = spends ? spend(counter, open.states, cost, charges, holder) : open.states;
    reportLimits(reply, at, limits, states);
    if (charges && counter.thresholdMarks.length > 0) {
      told ??= [];
      notifyThresholds(told, counter, open, (i) => unitsAt(counter, i, cost));
    }
    // A denial keeps a debt that now takes longer to drain than by the numbers with which it was spent.
    if (mayCharge) keepReported(counter, open, reply, at, charges || blocks, memory);
    if ((reply[at - 1] as number) > 0) denyByBlock(reply, at, counter, open.block as Block, cost);
    at += 2 + 4 * limits.length;
  }
  return told === undefined ? reply : [...reply, ...told];
}

/**
 * Blocks a counter that denied, if limits with a block denied a cost that fits them, and often enough. True if that changed the
 * counter.
 */
function blockNow(
  reply: number[],
  at: number,
  counter: Counter,
  open: OpenCounter,
  cost: number,
  { now, generation }: Now,
): boolean {
  let isCounted = false;
  const isExceeded = ({ limit, shape, algorithm, block }: CompiledLimit, i: number) => {
    const isDenied = reply[at + 4 * i] !== 0 && unitsAt(counter, i, cost) <= limit;
    if (!isDenied || !shape.blocks) return false;
    if (algorithm.deny === undefined) return true;
    isCounted = true;
    return algorithm.deny(open.states[i], block as BlockRule);
  };
  if (!setBlock(counter, open, isExceeded, generation)) return isCounted;
  reply[at - 2] = generation;
  reply[at - 1] = restOf(open.block, now);
  const { setBy } = open.block as Block;
  reply[at + 4 * (setBy - 1)] = 0;
  return true;
}
