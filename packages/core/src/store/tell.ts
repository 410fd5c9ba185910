import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { Counter, OpenCounter } from "./counter.ts";

/*
 * What charges tell about the thresholds of limits that notify. Twin of thresholds.lua.
 *
 * The reply to a charge has it behind everything else: for each limit that notifies, how many thresholds this charge tells, which
 * are the highest that are reached; the units that remain, below 0 if more is used than the limit; and microseconds until it is
 * unused.
 */

/** Numbers in a reply for each limit that notifies. */
export const TOLD_NUMBERS = 3;

/** Adds to a reply what a charge tells of a counter, and keeps that it was told. `unitsOf`: the units that a limit was asked for. */
export function tellHere(
  reply: number[],
  counter: Counter,
  open: OpenCounter,
  unitsOf: (i: number) => number,
): void {
  for (const i of counter.marks) {
    const { algorithm, quota } = counter.limits[i] as CompiledLimit;
    const { remaining, reset } = algorithm.report(open.states[i], quota);
    reply.push(unitsOf(i) > 0 ? reach(counter, open, i, remaining) : 0, remaining, reset);
  }
}

/** How many thresholds of a limit are told now. */
function reach({ limits }: Counter, open: OpenCounter, i: number, remaining: number): number {
  const { algorithm, quota, limit, notify } = limits[i] as CompiledLimit;
  const { stamp: now, states } = open;
  const used = limit - remaining;
  const [lowest = Number.POSITIVE_INFINITY] = notify?.units ?? [];
  if (used < lowest) return 0;
  const known = open.marks?.[i];
  const mark = known !== undefined && known.ends > now ? known : { units: 0, ends: 0 };
  const reached = (notify?.units ?? []).filter((units) => units > mark.units && units <= used);
  const ends = now + (algorithm.left?.(states[i], quota) ?? (notify?.span as number));
  // A clock that stepped back, or a shorter window, makes no mark last longer than one that is made now.
  if (reached.length > 0 || mark.ends > ends) {
    open.marks ??= [];
    open.marks[i] = { units: reached.at(-1) ?? mark.units, ends };
  }
  return reached.length;
}
