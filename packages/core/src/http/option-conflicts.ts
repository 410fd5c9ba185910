import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { Cost } from "../common/cost.ts";
import { formatReceived, HeadgateError, invalidOption } from "../common/errors.ts";
import { DEFAULT_DIMENSION, GLOBAL_DIMENSION } from "../common/policy.ts";
import type { Limiter } from "../limiter/limiter.ts";
import type { LimiterWithInternals } from "../limiter/limiter-internals.ts";
import { internalsOf, LIMITER } from "../limiter/limiter-internals.ts";
import { unitsFor } from "../policy/costs.ts";
import { countsAll } from "./count-option.ts";
import type { GuardLimiters } from "./guard-limiters.ts";
import type { GuardSettings } from "./parse-guard-options.ts";

/* Options that conflict with the limits, found when a guard is created. */

/** Throws `HEADGATE_INVALID_OPTION` for a key that no limiter counts by, because it would never be called. */
export function rejectUnusedKeys(
  owner: string,
  key: GuardSettings<never>["key"],
  limiters: readonly Limiter[],
): void {
  if (key === undefined) return;
  const groups = limiters.flatMap((limiter) => internalsOf(limiter).policy.groups);
  const counted = new Set(groups.map(({ dimension }) => dimension));
  counted.delete(GLOBAL_DIMENSION);
  const isOne = typeof key === "function";
  const unread = isOne ? [DEFAULT_DIMENSION] : Object.keys(key);
  const dimension = unread.find((name) => !counted.has(name));
  if (dimension === undefined) return;
  const what = isOne ? "key" : `the key of ${formatReceived(dimension)}`;
  const how = isOne ? "; give each key its dimension, as in key: { user: (request) => ... }" : "";
  throw invalidOption(
    `${owner}: ${what} is never read, because ${explainUnusedKey(limiters, counted)}${counted.size === 0 ? "" : how}`,
  );
}

function explainUnusedKey(limiters: readonly Limiter[], counted: ReadonlySet<string>): string {
  if (limiters.length === 0) return "every route with limits has a key of its own";
  if (counted.size === 0) return "the limits count all clients together";
  return `the limits count per ${[...counted].map(formatReceived).join(", ")}`;
}

/**
 * Throws `HEADGATE_COST_ABOVE_LIMIT` if the cost of all requests is more than a limiter can ever grant. A limit of 0 is
 * intended to deny.
 */
export function rejectImpossibleCost(
  owner: string,
  cost: GuardSettings<never>["cost"],
  { all, single, choose }: GuardLimiters,
): void {
  const isPerRequest = single !== undefined && choose !== undefined;
  if (cost === undefined || typeof cost === "function" || isPerRequest) return;
  const impossible = all.map((limiter) => findImpossibleLimit(limiter, cost));
  const [first] = impossible;
  if (first === undefined || impossible.includes(undefined)) return;
  const { name, limit, units } = first;
  throw new HeadgateError(
    "HEADGATE_COST_ABOVE_LIMIT",
    `${owner}: a cost of ${units} would deny every request, because the limit ${formatReceived(name)} grants ${limit} at most; lower the cost, or raise the limit`,
  );
}

/** The first limit that can never grant a cost. */
function findImpossibleLimit(
  limiter: LimiterWithInternals,
  cost: Cost,
): { readonly name: string; readonly limit: number; readonly units: number } | undefined {
  for (const { name, limit, shape } of limiter[LIMITER].policy.limits) {
    // One number takes one slot, whatever it is.
    const ofAll = typeof cost === "number" && shape.slotTtl === undefined ? cost : 1;
    const units = typeof cost === "object" ? (unitsFor(cost, name) ?? 1) : ofAll;
    if (limit > 0 && units > limit) return { name, limit, units };
  }
  return undefined;
}

/**
 * Throws `HEADGATE_INVALID_OPTION` for `count` or `wait` with limits that block. Until `count` settles them, requests in
 * progress are charged, and a denial because of them must not lock a client out. A request that waits is not denied at once, so
 * it would never set a block.
 */
export function rejectBlockConflicts(
  owner: string,
  limiters: readonly LimiterWithInternals[],
  { count, waitMs }: Pick<GuardSettings<never>, "count" | "waitMs">,
): void {
  const limits = limiters.flatMap((limiter) => limiter[LIMITER].policy.limits);
  const reject = (blocking: CompiledLimit | undefined, why: (name: string) => string): void => {
    if (blocking === undefined) return;
    throw invalidOption(`${owner}: ${why(formatReceived(blocking.name))}`);
  };
  if (!countsAll(count)) {
    reject(
      limits.find(({ shape }) => shape.blocksOnDenial && !shape.countsDenials),
      (name) =>
        `count cannot be used with limits whose denials block, because requests in progress would set blocks; the limit ${name} has a block, and its limiter was created without count. Give count together with limits, or create the limiter with blockOn: "settle"`,
    );
  }
  if (waitMs !== undefined) {
    reject(
      limits.find(({ block }) => block !== undefined),
      (name) =>
        `wait cannot be used with limits that have a block, because it is set at once; the limit ${name} has one. Leave one of them out, for example with wait: false`,
    );
  }
}
