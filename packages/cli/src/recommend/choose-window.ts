import type { Window } from "./windows.ts";

/** The fewest units that meet the target within a window. */
export interface TightestLimit {
  readonly window: Window;
  readonly units: number;
  /** Whether the log is at least twice as long as the window. */
  readonly isLogLongEnough: boolean;
}

/** What a window grants beyond what the target needs. */
export interface Excess {
  /** How many times the units of the shortest window it grants at once. */
  readonly excessAtOnce: number;
  /** How many times the units of the longest window it grants within that. */
  readonly excessOverTime: number;
}

/** By windows, the shortest first; windows that the log is too short for are no measure, unless there are no others. */
export function excessOf(all: readonly TightestLimit[]): readonly Excess[] {
  const known = withLongEnoughLog(all);
  const [shortest, longest] = [known.at(0) as TightestLimit, known.at(-1) as TightestLimit];
  return all.map(({ window, units }) => ({
    excessAtOnce: units / shortest.units,
    excessOverTime: (units * longest.window.ms) / window.ms / longest.units,
  }));
}

/**
 * The place of the window whose larger excess is the smallest: a short window lets one client have much over a day, a long one
 * much at once. Of equals the longer.
 */
export function chooseWindow(all: readonly TightestLimit[]): number {
  const excess = excessOf(all);
  const known = withLongEnoughLog(all);
  let chosen: number | undefined;
  for (const [i, one] of all.entries()) {
    if (!known.includes(one)) continue;
    if (chosen === undefined || largerExcess(excess[i]) <= largerExcess(excess[chosen])) chosen = i;
  }
  return chosen as number;
}

function withLongEnoughLog(all: readonly TightestLimit[]): readonly TightestLimit[] {
  const long = all.filter(({ isLogLongEnough }) => isLogLongEnough);
  return long.length === 0 ? all : long;
}

function largerExcess(excess: Excess | undefined): number {
  return excess === undefined ? Infinity : Math.max(excess.excessAtOnce, excess.excessOverTime);
}
