import type { Policy } from "@headgate/core";
import { createLimiter } from "@headgate/core";

/** How much a policy grants in a window, to be drawn beside the peaks of clients. */
export interface LimitLine {
  /** The policy's place, from 1. */
  readonly policy: number;
  /** Units in the window. */
  readonly units: number;
}

/** The lines of all policies in a window of so many milliseconds; a limit's window is the time in which all of it comes back. */
export function limitLines(policies: readonly Policy[], window: number): LimitLine[] {
  return policies.flatMap((limits, i) =>
    createLimiter({ limits: [limits].flat() })
      .limits.filter(({ limit, windowMs }) => limit > 0 && windowMs === window)
      .map(({ limit }) => ({ policy: i + 1, units: limit })),
  );
}
