import { invalidValue } from "@headgate/core/internal";
import type { Score } from "./recommendation.ts";

/** The largest share of clients or of requests that a limit may deny. */
export interface Target {
  /** The share in percent, with up to six decimals: `"0.1%"`. */
  readonly denyAtMost: string;
  readonly of: "clients" | "requests";
}

/** A target that has been read. */
export interface DenialTarget {
  readonly of: Target["of"];
  /** The largest share that may be denied, in percent, as given: `0.1`. */
  readonly maxPercent: number;
}

/** 100 %, in millionths of a percent. */
const MILLIONTHS = 100_000_000n;

/** Throws `HEADGATE_INVALID_OPTION`. */
export function readTarget({ denyAtMost, of }: Target): DenialTarget {
  const maxPercent = Number(/^(\d{1,3}(?:\.\d{1,6})?) ?%$/.exec(denyAtMost)?.[1] ?? Number.NaN);
  if (!(maxPercent <= 100)) {
    throw invalidValue(`denyAtMost must be a share from 0% to 100%, as in 0.1%`, denyAtMost);
  }
  if (of !== "clients" && of !== "requests") {
    throw invalidValue(`of must be clients or requests`, of);
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
