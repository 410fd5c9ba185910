import type { LimitState } from "../common/decision.ts";
import { formatKind, invalidValue } from "../common/errors.ts";
import type { Policy } from "../common/policy.ts";

/** Throws `HEADGATE_INVALID_OPTION`. */
export function readPerCallPolicies(policies: unknown): readonly Policy[] {
  if (Array.isArray(policies)) return policies as readonly Policy[];
  throw invalidValue("perCallPolicies must be a list of policies", policies, formatKind);
}

/** The limits of the limiter's own policy, and those of the others that are in use. */
export function reportedLimits(all: readonly (readonly LimitState[])[]): readonly LimitState[] {
  const [own = [], ...others] = all;
  return [...own, ...others.flat().filter(isUsed)];
}

function isUsed({ limit, remaining, resetAfterMs }: LimitState): boolean {
  return remaining < limit || resetAfterMs > 0;
}
