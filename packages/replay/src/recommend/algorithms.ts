import type { Duration } from "@headgate/core";
import { fixedWindow, gcra, slidingLog, slidingWindow, tokenBucket } from "@headgate/core";
import { invalidValue } from "@headgate/core/internal";
import type { ReplayLimit } from "../replay/policies.ts";

export type Algorithm = "gcra" | "tokenBucket" | "fixedWindow" | "slidingWindow" | "slidingLog";

type LimitFactory = (limit: number, window: Duration) => ReplayLimit;

/** Creates a limit of the same units and window with each algorithm. */
const ALGORITHMS: Readonly<Record<Algorithm, LimitFactory>> = {
  gcra: (limit, window) => gcra({ limit, window }),
  tokenBucket: (limit, window) => tokenBucket({ capacity: limit, refill: limit, every: window }),
  fixedWindow: (limit, window) => fixedWindow({ limit, window }),
  slidingWindow: (limit, window) => slidingWindow({ limit, window }),
  slidingLog: (limit, window) => slidingLog({ limit, window }),
};

/** Throws `HEADGATE_INVALID_OPTION` unless it is the name of an algorithm. */
export function requireAlgorithm(name: string): asserts name is Algorithm {
  if (Object.hasOwn(ALGORITHMS, name)) return;
  throw invalidValue(`algorithm must be one of ${Object.keys(ALGORITHMS).join(", ")}`, name);
}

/** A limit of `units` per window, which admits all of them at once. Throws `HEADGATE_INVALID_LIMIT`. */
export function makeLimit(algorithm: Algorithm, units: number, window: Duration): ReplayLimit {
  return ALGORITHMS[algorithm](units, window);
}

/** The most units that a limit admits for one client within any span. */
export function maxAdmitted(
  algorithm: Algorithm,
  units: number,
  windowMs: number,
  spanMs: number,
): number {
  switch (algorithm) {
    case "gcra":
    case "tokenBucket":
      return units + Math.floor((units * spanMs) / windowMs);
    case "slidingLog":
      return units * Math.ceil(spanMs / windowMs);
    // A span may begin in the middle of a window and end in the middle of another one.
    case "fixedWindow":
    case "slidingWindow":
      return units * (Math.ceil(spanMs / windowMs) + 1);
  }
}
