import type { Counter } from "./counter.ts";

export type DecideMode = "enforce" | "charge" | "peek" | "ask";

/** One request to decide. */
export interface DecideCall {
  /** Units; 0 only looks, and reports the limits as they are. If the counters have costs, the largest of those. */
  readonly cost: number;
  /**
   * What an allowed request does: it is charged, and a denial of it may block (`"enforce"`) or not (`"charge"`); it is only looked at (`"peek"`), reported as if it had been charged; or it is
   * asked for (`"ask"`), and the limits are reported as they are.
   */
  readonly mode: DecideMode;
  /** The holder of the places, if counters are of places and the request is charged. */
  readonly holder?: string | undefined;
  readonly counters: readonly Counter[];
}

/** Whether an allowed request can be settled afterwards. */
export function isSettled(mode: DecideMode): boolean {
  return mode !== "peek";
}

/** Whether an allowed request is charged. */
export function isCharging(mode: DecideMode): boolean {
  return mode === "enforce" || mode === "charge";
}
