import type { HeadgateError } from "../common/errors.ts";
import { formatReceived, invalidOption } from "../common/errors.ts";
import { GLOBAL_DIMENSION } from "../common/policy.ts";
import { requireUndelivered } from "../health/store-failure.ts";
import type { LimiterWithInternals } from "../limiter/limiter-internals.ts";
import { internalsOf, LIMITER } from "../limiter/limiter-internals.ts";
import { decisionOf } from "./request-decision.ts";

/** Throws `HEADGATE_INVALID_OPTION` for a dimension that no limiter counts by, and for `global`, whose counter all clients share. */
export function requireResettable(
  owner: string,
  dimensions: readonly string[] | undefined,
  limiters: readonly LimiterWithInternals[],
): void {
  const groups = limiters.flatMap((limiter) => limiter[LIMITER].policy.groups);
  const counted = [...new Set(groups.map(({ dimension }) => dimension))];
  const own = counted.filter((dimension) => dimension !== GLOBAL_DIMENSION);
  const wrong = dimensions?.find((dimension) => !own.includes(dimension));
  if (wrong === undefined) return;
  const why =
    wrong === GLOBAL_DIMENSION
      ? "would reset all clients at once"
      : `has ${formatReceived(wrong)}, but the limits count per ${counted.map(formatReceived).join(", ")}`;
  throw invalidOption(`${owner}: resetDimensions ${why}`);
}

/**
 * Deletes the usage of a request's client in these limiters, in the named dimensions. Resolves with true if a record was
 * deleted; with false also if the store is unavailable.
 */
export async function resetClient(
  owner: string,
  request: object,
  limiters: readonly LimiterWithInternals[],
  dimensions: readonly string[] | undefined,
): Promise<boolean> {
  if (dimensions === undefined) throw missingDimensionsError(owner);
  const own = decisionOf(request, limiters);
  if (own === undefined) return false;
  const { subject, limiter } = own;
  const counted = dimensions.filter((dimension) => typeof subject[dimension] === "string");
  if (counted.length === 0) return false;
  try {
    return await limiter.reset(
      Object.fromEntries(counted.map((dimension) => [dimension, subject[dimension]])),
    );
  } catch (error) {
    const { monitor } = internalsOf(limiter);
    if (monitor === undefined) throw error;
    // The request succeeded, so it must not fail because its client cannot be reset.
    requireUndelivered(error, monitor.log);
    return false;
  }
}

function missingDimensionsError(owner: string): HeadgateError {
  return invalidOption(
    `${owner}: resetClient(request) needs the option resetDimensions, as in resetDimensions: ["account"]`,
  );
}
