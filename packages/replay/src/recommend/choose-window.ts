import type { Duration } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import { parseDuration, toMilliseconds } from "@headgate/core/internal";

/** A window to consider. */
export interface Window {
  /** The duration as written: `1m`. */
  readonly text: Duration;
  readonly ms: number;
}

/** Reads windows such as `10s`, and sorts them, the shortest first. Throws `HEADGATE_INVALID_OPTION`. */
export function readWindows(windows: readonly Duration[]): readonly Window[] {
  const read = windows.map((text) => {
    const ms = toMilliseconds(parseDuration(text, "windows", "HEADGATE_INVALID_OPTION"));
    return { text, ms };
  });
  if (read.length === 0) {
    throw new HeadgateError("HEADGATE_INVALID_OPTION", "windows must name at least one window");
  }
  read.sort((one, other) => one.ms - other.ms);
  return read.filter(({ ms }, i) => ms !== read[i - 1]?.ms);
}

/** The fewest units that meet the target within a window. */
export interface TightestLimit {
  readonly window: Window;
  readonly units: number;
  /** Whether the log is at least twice as long as the window. */
  readonly isLogLongEnough: boolean;
}

/** How much more a limit grants than the target needs. */
export interface Excess {
  /** The units granted at once, divided by the units for the shortest window. */
  readonly excessAtOnce: number;
  /** The units granted within the longest window, divided by the units for that window. */
  readonly excessOverTime: number;
}

/** The excess of each window. Windows for which the log is too short are not compared with, unless there are no others. */
export function excessOf(all: readonly TightestLimit[]): readonly Excess[] {
  const known = withLongEnoughLog(all);
  const [shortest, longest] = [known.at(0) as TightestLimit, known.at(-1) as TightestLimit];
  return all.map(({ window, units }) => ({
    excessAtOnce: units / shortest.units,
    excessOverTime: (units * longest.window.ms) / window.ms / longest.units,
  }));
}

/**
 * The index of the window whose larger excess is the smallest: a short window admits much of one client over a day, a long one
 * admits much at once. Of equal windows, the longer one.
 */
export function chooseWindow(all: readonly TightestLimit[]): number {
  const excess = excessOf(all);
  const known = withLongEnoughLog(all);
  let chosenIndex: number | undefined;
  for (const [i, one] of all.entries()) {
    if (!known.includes(one)) continue;
    if (chosenIndex === undefined || largerExcess(excess[i]) <= largerExcess(excess[chosenIndex]))
      chosenIndex = i;
  }
  return chosenIndex as number;
}

function withLongEnoughLog(all: readonly TightestLimit[]): readonly TightestLimit[] {
  const long = all.filter(({ isLogLongEnough }) => isLogLongEnough);
  return long.length === 0 ? all : long;
}

function largerExcess(excess: Excess | undefined): number {
  return excess === undefined ? Infinity : Math.max(excess.excessAtOnce, excess.excessOverTime);
}
