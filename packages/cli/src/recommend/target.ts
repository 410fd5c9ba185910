import { CommandError } from "../command/command-error.ts";
import type { Score } from "./score.ts";

/** The whole of a share. */
export type TargetUnit = "clients" | "requests";

/** How many may be denied at most. */
export interface Target {
  readonly of: TargetUnit;
  /** As it was given, in percent: `0.1`. */
  readonly percent: number;
}

/** Millionths of a percent. */
const MILLIONTHS = 100_000_000n;

/** Reads a share in percent, as in `0.1%`, with up to six decimals. Throws a `CommandError`. */
export function parseTarget(share: string, of: string): Target {
  const percent = Number(/^(\d{1,3}(?:\.\d{1,6})?) ?%$/.exec(share)?.[1] ?? Number.NaN);
  if (!(percent <= 100)) {
    throw new CommandError(
      `--deny-at-most must be a share from 0% to 100%, as in 0.1%, got ${JSON.stringify(share)}`,
    );
  }
  if (of !== "clients" && of !== "requests") {
    throw new CommandError(`--of must be clients or requests, got ${JSON.stringify(of)}`);
  }
  return { of, percent };
}

/** The most of so many that may be denied. */
export function maxDeniedOf({ percent }: Target, whole: number): number {
  return Number((BigInt(Math.round(percent * 1e6)) * BigInt(whole)) / MILLIONTHS);
}

/** The same of what was scored. */
export function maxDeniedIn(target: Target, { clients, requests }: Score): number {
  return maxDeniedOf(target, target.of === "clients" ? clients : requests);
}

export function meetsTarget(target: Target, score: Score): boolean {
  const denied = target.of === "clients" ? score.clientsDenied : score.denied;
  return denied <= maxDeniedIn(target, score);
}
