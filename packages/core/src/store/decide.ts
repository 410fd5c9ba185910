import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { COUNT_DIGITS, digitsOf, LONG_DIGITS, newGeneration } from "../scripts/digits.ts";
import { scriptsFor } from "../scripts/shape-scripts.ts";
import { inRuns } from "./alike.ts";
import type { Counter, OpenCounter } from "./counter.ts";
import {
  areByName,
  keepReported,
  keysOf,
  numbersOf,
  openCounter,
  timesOf,
  unitsAt,
  unitsOf,
  weightOf,
} from "./counter.ts";
import type { DecideCall, DecideMode } from "./decide-call.ts";
import type { MemoryTable } from "./memory-table.ts";
import { readDecision } from "./read-decision.ts";
import type { Moment, Prepared, Replies, Step } from "./store.ts";

/** What there is to be done about a request. */
export function stepFor(mode: DecideMode): Step<DecideCall> {
  return mode === "charge" ? decide : look;
}

/**
 * Decides requests: all limits of a decision allow, or nothing of it is charged.
 *
 * A reply is the clock; then for each counter its generation, and for each of its limits: microseconds to wait (0 allowed, -1
 * never), units that remain, microseconds until it is as if unused, microseconds until more remain.
 */
export const decide: Step<DecideCall> = {
  name: "decide",
  kind: "decide",

  line: ({ counters }) => scriptsFor(counters),

  times: ({ counters }, clock, guess) => timesOf(counters, clock, guess),

  prepare(calls, clock, times = "") {
    const [first] = calls as [DecideCall];
    if (isLone(calls)) return prepareLone(first, clock, times);
    const runs = runsOf(calls, times).map(
      ({ digits, holder }) => digits + newGeneration() + holder,
    );
    const script = scriptsFor(first.counters).get("decide-batch");
    return { script, args: [clock, ...runs] };
  },

  read: (calls, reply) => readAll(calls, isLone(calls) ? [reply] : reply),

  keys: ({ counters }) => keysOf(counters),

  weight: ({ counters }) => weightOf(counters, 4),

  twin: decideHere,
};

/** Looks at limits, and changes nothing. The reply is that of `decide`. */
export const look: Step<DecideCall> = {
  ...decide,
  name: "look",
  prepare: (calls, clock, times = "") => ({
    script: scriptsFor((calls[0] as DecideCall).counters).get("look"),
    args: [clock, ...runsOf(calls, times).map(({ digits }) => digits)],
  }),
  read: readAll,
};

/** Whether calls have a script for one; a cost by name is decided by that for several. */
function isLone(calls: readonly DecideCall[]): boolean {
  return calls.length === 1 && !areByName((calls[0] as DecideCall).counters);
}

function prepareLone(
  { cost, counters, holder }: DecideCall,
  clock: string,
  times: string,
): Prepared {
  const argument = numbersOf(counters) + times + newGeneration();
  const script = scriptsFor(counters).get("decide-lone");
  const digits =
    cost === 1 && holder === undefined
      ? argument
      : argument + digitsOf(cost, LONG_DIGITS) + (holder ?? "");
  return { script, args: clock === "" ? [digits] : [digits, clock] };
}

/** What the scripts take of calls: those that follow each other and are alike come once, with how many they are. */
function runsOf(
  calls: readonly DecideCall[],
  times: string,
): { readonly digits: string; readonly holder: string }[] {
  return inRuns(calls, areAlike).map(({ first: { cost, counters, holder = "" }, count }) => ({
    digits: numbersOf(counters) + times + digitsOf(count, COUNT_DIGITS) + unitsOf(counters, cost),
    holder,
  }));
}

function readAll(calls: readonly DecideCall[], reply: unknown): Replies {
  const answers: readonly unknown[] = Array.isArray(reply) ? reply : [];
  return calls.map((call, i) => readDecision(call, answers[i]));
}

/** Whether two calls of one line, whose counters have the same shapes, cost as much by the same numbers, and take no places. */
function areAlike(one: DecideCall, other: DecideCall): boolean {
  return (
    one.cost === other.cost &&
    one.holder === other.holder &&
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
  memory: MemoryTable,
  moment: Moment,
): readonly number[] {
  const opened: OpenCounter[] = new Array(counters.length);
  const reply: number[] = new Array(lengthOfReply(counters));
  reply[0] = moment.now;
  let at = 1;
  let allowed = true;
  for (let u = 0; u < counters.length; u += 1) {
    const counter = counters[u] as Counter;
    const open = openCounter(counter, memory, moment);
    opened[u] = open;
    reply[at] = open.generation;
    at += 1;
    for (let i = 0; i < counter.limits.length; i += 1) {
      const { algorithm, quota } = counter.limits[i] as CompiledLimit;
      const units = unitsAt(counter, i, cost);
      // Who only looks is denied by no limit, also where more is used than it.
      const wait = units === 0 ? 0 : algorithm.wait(open.states[i], quota, units);
      allowed &&= wait === 0;
      reply[at] = wait;
      at += 4;
    }
  }
  // Spending 0 would append an entry to a log.
  const spends = allowed && mode !== "ask" && cost > 0;
  const charges = allowed && mode === "charge";
  at = 1;
  for (let u = 0; u < counters.length; u += 1) {
    const counter = counters[u] as Counter;
    const open = opened[u] as OpenCounter;
    let share = 0;
    let longest = 0;
    at += 1;
    for (let i = 0; i < counter.limits.length; i += 1) {
      const { algorithm, quota, limit } = counter.limits[i] as CompiledLimit;
      const state = spends && !charges ? algorithm.copy(open.states[i]) : open.states[i];
      const units = unitsAt(counter, i, cost);
      if (charges && units > 0 && algorithm.hold)
        algorithm.hold(state, quota, holder as string, units);
      else if (spends && units > 0) algorithm.spend(state, quota, units);
      const { remaining, reset, growth } = algorithm.report(state, quota);
      reply[at + 1] = remaining;
      reply[at + 2] = reset;
      reply[at + 3] = growth;
      at += 4;
      share = Math.max(share, 1 - remaining / limit);
      longest = Math.max(longest, algorithm.lasts?.(state) ?? reset);
    }
    // A denial keeps what takes longer to drain than by the numbers by which it was spent.
    const outlives = mode === "charge" && open.stamp + longest > open.expires;
    if (charges || outlives) keepReported(counter, open, share, longest, memory);
  }
  return reply;
}

function lengthOfReply(counters: readonly Counter[]): number {
  let length = 1;
  for (let u = 0; u < counters.length; u += 1) {
    length += 1 + 4 * (counters[u] as Counter).limits.length;
  }
  return length;
}
