import type { LimiterWithInternals } from "../limiter/limiter-internals.ts";
import { LIMITER } from "../limiter/limiter-internals.ts";
import { backendOf } from "../limiter/store-backend.ts";
import type { HttpUse } from "../registry/record.ts";
import { writePolicy } from "./answer.ts";
import type { HttpRequest } from "./client.ts";
import type { GuardLimiters } from "./guard-limiters.ts";
import type { GuardSettings } from "./parse-guard.ts";
import { createSubjectReader } from "./read-subjects.ts";
import type { PreparedLimiter } from "./request-context.ts";
import { fixedCharge } from "./request-cost.ts";

/**
 * Prepares the limiters of a guard, and lists their use in the directory. Throws `HEADGATE_INVALID_OPTION`,
 * `HEADGATE_INVALID_COST`.
 */
export function prepareLimiters<Request extends HttpRequest>(
  owner: string,
  { all, only, tiers }: GuardLimiters,
  settings: GuardSettings<Request>,
  adapter: string,
): ReadonlyMap<LimiterWithInternals, PreparedLimiter<Request>> {
  const prepared = new Map<LimiterWithInternals, PreparedLimiter<Request>>();
  for (const limiter of all) {
    const internals = limiter[LIMITER];
    const { read, usesAddress, sources } = createSubjectReader(owner, limiter, settings);
    const text = writePolicy(internals.policy.limits, settings.headers);
    const isOwn = limiter === only || [...tiers.values()].includes(limiter);
    prepared.set(limiter, {
      limiter,
      parts: internals,
      readSubjects: read,
      usesAddress,
      text,
      names: { ...text, policy: undefined },
      isOwn,
      charge: fixedCharge(owner, settings.cost, limiter, isOwn),
    });
    const { store } = internals.policy;
    backendOf(store)?.recordUse(store, limiter.name, useOf(adapter, sources, settings));
  }
  return prepared;
}

/** The use of a limiter for the directory, without the entries of lists, and without secrets. */
function useOf(
  adapter: string,
  keys: HttpUse["keys"],
  { missing, address, allowList, blockList }: GuardSettings<never>,
): HttpUse {
  return {
    adapter,
    keys,
    missing,
    addressHeader: address?.header.toLowerCase(),
    allowList: allowList?.source,
    blockList: blockList?.source,
  };
}
