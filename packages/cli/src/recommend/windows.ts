import type { Duration } from "@headgate/core";
import { createLimiter, gcra } from "@headgate/core";
import { CommandError } from "../command/command-error.ts";

/** A window that a limit may have. */
export interface Window {
  /** As it is written: `1m`. */
  readonly text: Duration;
  readonly ms: number;
}

/** From bursts to days. */
const DEFAULTS: readonly string[] = ["1s", "10s", "1m", "10m", "1h", "1d"];

/** Reads windows, each as in `10s`, and puts the shortest first. Default: from a second to a day. Throws a `CommandError`. */
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
    const rule = "--window must be a duration from 1ms to 366d, as in 10s or 1m";
    throw new CommandError(`${rule}, got ${JSON.stringify(text)}`, undefined, {
      cause: error,
    });
  }
}
