import { invalidValue } from "@headgate/core/internal";
import type { Score } from "./recommendation.ts";

/** The largest share of clients or of requests that a limit may deny. */
export interface Target {
  /** The share in percent, with up to six decimals. Default: `"0.1%"`, or `"1%"` if the log is so small that only 1 % is somebody. */
  readonly denyAtMost?: string | undefined;
  readonly of: "clients" | "requests";
}

/** A target that has been read. */
export interface DenialTarget {
  readonly of: Target["of"];
  /** The largest share that may be denied, in percent, as given: `0.1`. */
  readonly maxPercent: number;
  /** Whether it is the default of a small log. */
  readonly isForSmallLog?: boolean;
}

const DEFAULT_PERCENT = 0.1;

const SMALL_LOG_PERCENT = 1;

/** 100 %, in millionths of a percent. */
const MILLIONTHS = 100_000_000n;

/** Throws `HEADGATE_INVALID_OPTION`. */
export function readTarget({ denyAtMost = `${DEFAULT_PERCENT}%`, of }: Target): DenialTarget {
  const maxPercent = Number(/^(\d{1,3}(?:\.\d{1,6})?) ?%$/.exec(denyAtMost)?.[1] ?? Number.NaN);
  if (!(maxPercent <= 100)) {
    throw invalidValue(`denyAtMost must be a share from 0% to 100%, as in 0.1%`, denyAtMost);
  }
  if (of !== "clients" && of !== "requests") {
    throw invalidValue(`of must be clients or requests`, of);
  }
  return { of, maxPercent };
}

/** The target for a log: without a given share, 1 % if 0.1 % is nobody. */
export function targetFor(given: Target, log: Pick<Score, "clients" | "requests">): DenialTarget {
  const target = readTarget(given);
  const larger = { ...target, maxPercent: SMALL_LOG_PERCENT, isForSmallLog: true };
  const whole = log[target.of];
  const isLarger = maxDeniedOf(target, whole) === 0 && maxDeniedOf(larger, whole) > 0;
  return given.denyAtMost === undefined && isLarger ? larger : target;
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
