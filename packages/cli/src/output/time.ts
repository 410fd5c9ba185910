/** The latest time of a `Date`, in milliseconds since the epoch. */
const LATEST = 8.64e15;

/** Converts microseconds, the unit of the control record, to milliseconds. */
export function toMs(microseconds: number): number {
  return Math.ceil(microseconds / 1_000);
}

/** The time zone of what a command prints; undefined is this machine's. */
let printed: string | undefined = "UTC";

/** Prints times in this machine's time zone from now on, or in UTC. One command runs in a process. */
export function printLocalTimes(isLocal: boolean): void {
  printed = isLocal ? undefined : "UTC";
}

/** Formats milliseconds since the epoch as `2026-11-22 23:05:10 UTC`. */
export function formatTime(at: number, timeZone: string | undefined = printed): string {
  // A forged or damaged record may contain any number.
  if (!(Math.abs(at) <= LATEST)) return "an unknown time";
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short",
  });
  const parts = format.formatToParts(at);
  const part = (type: string): string => parts.find((one) => one.type === type)?.value ?? "";
  return `${part("year")}-${part("month")}-${part("day")} ${part("hour")}:${part("minute")}:${part("second")} ${part("timeZoneName")}`;
}
