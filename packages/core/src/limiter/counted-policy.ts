import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { compilePolicy } from "../algorithms/compile-policy.ts";
import { HeadgateError } from "../errors.ts";
import { escapePart, fingerprint } from "../key.ts";
import type { Policy } from "../policy.ts";
import type { CounterLimits } from "../store/counter.ts";
import type { Store } from "../store/store.ts";

/** The limits of a policy that count by one dimension. */
export interface Group extends CounterLimits {
  readonly dimension: string;
  /** Where each of the limits stands in the policy as it was written. */
  readonly positions: readonly number[];
  /** What follows the subject in the key. */
  readonly keySuffix: string;
}

/** A policy made ready to be counted on a store. */
export interface CountedPolicy {
  readonly store: Store;
  readonly groups: readonly Group[];
  /** Every limit, in the order of the policy. */
  readonly limits: readonly CompiledLimit[];
  /** The policy in canonical form: equal exactly when two limiters count the same. */
  readonly canonical: string;
  /** Equal exactly when, on one store, all keys are. */
  readonly keyspace: string;
}

/** Validates a policy and prepares its keys. Throws `HEADGATE_INVALID_LIMIT`. */
export function compileCountedPolicy(name: string, policy: Policy, store: Store): CountedPolicy {
  const limits = compilePolicy(policy);
  // The order in which limits were written must not matter to what is counted where.
  const order = limits
    .map((limit, position) => ({ limit, position, id: `${limit.per}=${limit.canonical}` }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const canonical = order.map(({ id }) => id).join(";");
  const dimensions = [...new Set(limits.map(({ per }) => per))];
  const groups = dimensions.map((dimension) => {
    const members = order.filter(({ limit }) => limit.per === dimension);
    return {
      dimension,
      limits: members.map(({ limit }) => limit),
      positions: members.map(({ position }) => position),
      description: members
        .flatMap(({ limit }) => [limit.algorithm.name, ...limit.parameters])
        .join(" "),
      keySuffix: `}:${escapePart(name)}:${escapePart(dimension)}:${fingerprint(canonical)}`,
    };
  });
  const keyspace = `${store.prefix}:${escapePart(name)}:${canonical}`;
  return { store, groups, limits, canonical, keyspace };
}

/** One decision over two limiters: the first one's limits, then the second one's. Throws `HEADGATE_INVALID_OPTION` when they are on different stores. */
export function joinCountedPolicies(first: CountedPolicy, second: CountedPolicy): CountedPolicy {
  const sameStore =
    first.store.owner === second.store.owner && first.store.prefix === second.store.prefix;
  if (!sameStore) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      "extends: one decision over two limiters needs both on the same store, with the same prefix",
    );
  }
  if (first.keyspace === second.keyspace) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      "extends: a limiter cannot extend one of its own name and policy",
    );
  }
  const moved = second.groups.map((group) => ({
    ...group,
    positions: group.positions.map((position) => position + first.limits.length),
  }));
  return {
    store: second.store,
    groups: [...first.groups, ...moved],
    limits: [...first.limits, ...second.limits],
    canonical: `${first.canonical}&${second.canonical}`,
    keyspace: `${first.keyspace}&${second.keyspace}`,
  };
}
