import type { Duration } from "@headgate/core";
import { CommandError } from "./command-error.ts";

const MS_PER_UNIT: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Reads the duration of an option, such as `250ms`, `10s`, `1m`, `1h` or `7d`, in milliseconds. Throws a `CommandError` unless it is from `min` to `max`. */
export function readDuration(
  option: string,
  text: string,
  min: Duration & string,
  max: Duration & string,
): number {
  const ms = parseMilliseconds(text);
  if (ms >= parseMilliseconds(min) && ms <= parseMilliseconds(max)) return ms;
  throw new CommandError(
    `${option} must be a time from ${min} to ${max}, such as 250ms, 10s, 1m, 1h or 7d, got ${JSON.stringify(text)}`,
  );
}

/** Reads `--for` and `--forever`; undefined if neither is given. Throws a `CommandError`. */
export function readExpiry({
  for: duration,
  forever,
}: {
  readonly for?: string | undefined;
  readonly forever?: boolean | undefined;
}): Duration | "forever" | undefined {
  if (forever === true && duration !== undefined) {
    throw new CommandError("give --for DURATION or --forever, not both");
  }
  if (duration !== undefined) readDuration("--for", duration, "1ms", "366d");
  return forever === true ? "forever" : (duration as Duration | undefined);
}

/** NaN if the text is not a duration. */
function parseMilliseconds(text: string): number {
  const [, number, unit = ""] = /^(\d{1,15})(ms|s|m|h|d)$/.exec(text) ?? [];
  return Number(number) * (MS_PER_UNIT[unit] ?? Number.NaN);
}
