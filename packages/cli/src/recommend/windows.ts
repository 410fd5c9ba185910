import type { Duration } from "@headgate/core";
import { createLimiter, gcra } from "@headgate/core";
import { CommandError } from "../command/command-error.ts";

/** A window to consider. */
export interface Window {
  /** The duration as written: `1m`. */
  readonly text: Duration;
  readonly ms: number;
}

/** The default windows. */
const DEFAULTS: readonly string[] = ["1s", "10s", "1m", "10m", "1h", "1d"];

/** Parses windows such as `10s`, and sorts them, the shortest first. Throws a `CommandError`. */
export function parseWindows(texts: readonly string[] = DEFAULTS): readonly Window[] {
  const windows = texts.map(parseWindow);
  windows.sort((one, other) => one.ms - other.ms);
  return windows.filter(({ ms }, i) => ms !== windows[i - 1]?.ms);
}

function parseWindow(text: string): Window {
  try {
    const { limits } = createLimiter({ limits: gcra({ limit: 1, window: text as Duration }) });
    return { text: text as Duration, ms: limits[0]?.windowMs as number };
  } catch (error) {
    const rule = "--window must be a duration from 1ms to 366d, such as 10s or 1m";
    throw new CommandError(`${rule}, got ${JSON.stringify(text)}`, undefined, {
      cause: error,
    });
  }
}
