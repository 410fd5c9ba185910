import { CommandError } from "../command/command-error.ts";
import type { Score } from "./score.ts";

/** The unit of a share. */
export type TargetUnit = "clients" | "requests";

/** The largest share that may be denied. */
export interface DenialTarget {
  readonly of: TargetUnit;
  /** The largest share that may be denied, in percent, as given: `0.1`. */
  readonly maxPercent: number;
}

/** 100 %, in millionths of a percent. */
const MILLIONTHS = 100_000_000n;

/** Reads a share in percent, as in `0.1%`, with up to six decimals. Throws a `CommandError`. */
export function parseTarget(share: string, of: string): DenialTarget {
  const maxPercent = Number(/^(\d{1,3}(?:\.\d{1,6})?) ?%$/.exec(share)?.[1] ?? Number.NaN);
  if (!(maxPercent <= 100)) {
    throw new CommandError(
      `--deny-at-most must be a share from 0% to 100%, as in 0.1%, got ${JSON.stringify(share)}`,
    );
  }
  if (of !== "clients" && of !== "requests") {
    throw new CommandError(`--of must be clients or requests, got ${JSON.stringify(of)}`);
  }
  return { of, maxPercent };
}

/** How many of `whole` may be denied. */
export function maxDeniedOf({ maxPercent }: DenialTarget, whole: number): number {
  return Number((BigInt(Math.round(maxPercent * 1e6)) * BigInt(whole)) / MILLIONTHS);
}

/** How many of the scored clients or requests may be denied. */
export function maxDeniedIn(target: DenialTarget, { clients, requests }: Score): number {
  return maxDeniedOf(target, target.of === "clients" ? clients : requests);
}

export function meetsTarget(target: DenialTarget, score: Score): boolean {
  const denied = target.of === "clients" ? score.clientsDenied : score.denied;
  return denied <= maxDeniedIn(target, score);
}
