import type { LimiterWithInternals } from "../limiter/limiter-internals.ts";
import { LIMITER } from "../limiter/limiter-internals.ts";
import { backendOf } from "../limiter/store-backend.ts";
import type { HttpUse } from "../registry/record.ts";
import type { HttpRequest } from "./client.ts";
import type { GuardLimiters } from "./guard-limiters.ts";
import type { GuardAdapter } from "./guard-plan.ts";
import type { GuardSettings } from "./parse-guard-options.ts";
import { preparePolicyText } from "./rate-limit-response.ts";
import { createSubjectReader } from "./read-subjects.ts";
import type { PreparedLimiter } from "./request-context.ts";
import { fixedCostOptions } from "./request-cost.ts";

/**
 * Prepares the limiters of a guard, and lists their use in the registry. Throws `HEADGATE_INVALID_OPTION`,
 * `HEADGATE_INVALID_COST`.
 */
export function prepareLimiters<Request extends HttpRequest>(
  owner: string,
  { all, single, tiers }: GuardLimiters,
  settings: GuardSettings<Request>,
  { name: adapter, warn }: Pick<GuardAdapter<Request>, "name" | "warn">,
): ReadonlyMap<LimiterWithInternals, PreparedLimiter<Request>> {
  const prepared = new Map<LimiterWithInternals, PreparedLimiter<Request>>();
  for (const limiter of all) {
    const internals = limiter[LIMITER];
    const { read, usesAddress, sources } = createSubjectReader(owner, limiter, settings, warn);
    const policyText = preparePolicyText(internals.policy.limits, settings.headers);
    const hasOwnLimits = limiter === single || [...tiers.values()].includes(limiter);
    prepared.set(limiter, {
      limiter,
      internals,
      readSubjects: read,
      usesAddress,
      policyText,
      namesOnly: { ...policyText, policyHeader: undefined },
      hasOwnLimits,
      costOptions: fixedCostOptions(owner, settings.cost, limiter, hasOwnLimits),
    });
    const { store } = internals.policy;
    backendOf(store)?.recordUse(store, limiter.name, describeUse(adapter, sources, settings));
  }
  return prepared;
}

/** The use of a limiter for the registry, without the entries of lists, and without secrets. */
function describeUse(
  adapter: string,
  keys: HttpUse["keys"],
  { missingKey, address, allowList, denyList }: GuardSettings<never>,
): HttpUse {
  return {
    adapter,
    keys,
    missingKey,
    addressHeader: address?.header.toLowerCase(),
    allowList: allowList?.source,
    denyList: denyList?.source,
  };
}
