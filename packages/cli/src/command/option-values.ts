import { readFileSync } from "node:fs";
import type { Duration } from "@headgate/core";
import { CommandError, messageOf } from "./command-error.ts";

const MS_PER_UNIT: Readonly<Record<string, number>> = {
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
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

/** NaN if the text is not a duration. */
function parseMilliseconds(text: string): number {
  const [, number, unit = ""] = /^(\d{1,15})(ms|s|m|h|d)$/.exec(text) ?? [];
  return Number(number) * (MS_PER_UNIT[unit] ?? Number.NaN);
}

/** Formats a duration of a policy: `"1m"` stays unchanged, 60,000 becomes `1m`. */
export function formatDuration(duration: Duration): string {
  if (typeof duration === "string") return duration;
  const units = Object.entries(MS_PER_UNIT);
  const [unit, size] = units.find(([, ms]) => duration % ms === 0) ?? ["ms", 1];
  return `${duration / size}${unit}`;
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

/** Parses JSON in an option, or in the file of `@FILE`. Throws a `CommandError`. */
export function readJson(option: string, text: string): unknown {
  const json = text.startsWith("@") ? readText(option, text.slice(1)) : text;
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new CommandError(
      `${option} must be JSON, or @FILE for a file that contains JSON`,
      undefined,
      {
        cause,
      },
    );
  }
}

/** Reads a file that an option names. Throws a `CommandError`. */
export function readText(option: string, file: string): string {
  try {
    // Unlike the encoding "utf8", TextDecoder removes a byte order mark.
    return new TextDecoder().decode(readFileSync(file));
  } catch (cause) {
    throw new CommandError(`${option}: cannot read ${file}: ${messageOf(cause)}`, undefined, {
      cause,
    });
  }
}
