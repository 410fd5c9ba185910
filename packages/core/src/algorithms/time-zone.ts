/** biome-ignore-all lint/style/noRestrictedGlobals: Date counts days here, and reads no clock. */
const SECOND = 1_000;
const DAY = 86_400_000;

/**
 * The wall clocks of a time zone, by the zone data of this Node. Moments are milliseconds since the epoch in whole seconds, as
 * all clock changes are. Local times are written as if the clocks showed UTC.
 */
export interface TimeZone {
  /** The local time at a moment. */
  localAt(moment: number): number;
  /** The first moment at which clocks show this local time, or have skipped it. */
  firstAt(local: number): number;
}

/** Throws a `RangeError` for the name of an unknown zone. */
export function openTimeZone(name: string): TimeZone {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: name,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });

  function localAt(moment: number): number {
    const shown = format.format(moment).match(/\d+/g) ?? [];
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = shown.map(Number);
    return Date.UTC(year, month - 1, day, hour, minute, second);
  }

  function offsetAt(moment: number): number {
    return localAt(moment) - moment;
  }

  return {
    localAt,

    firstAt(local) {
      // Clocks differ from UTC by less than a day, so at most one change lies between these two.
      const before = offsetAt(local - DAY);
      const after = offsetAt(local + DAY);
      // If clocks are put back, this local time may occur twice: take the first one, before the change.
      if (offsetAt(local - before) === before) return local - before;
      if (offsetAt(local - after) === after) return local - after;
      return findSkip(local, local - after, local - before);
    },
  };

  /** The moment at which clocks skip ahead: after `from`, at `to` at the latest. */
  function findSkip(local: number, from: number, to: number): number {
    let [early, late] = [from, to];
    while (late - early > SECOND) {
      const middle = early + Math.floor((late - early) / 2 / SECOND) * SECOND;
      if (localAt(middle) < local) early = middle;
      else late = middle;
    }
    return late;
  }
}
