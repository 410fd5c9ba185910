import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { compilePolicy } from "../algorithms/compile-policy.ts";
import { formatReceived, HeadgateError, invalidOption } from "../common/errors.ts";
import { escapePart, fingerprint } from "../common/key.ts";
import type { BlockOn, Policy } from "../common/policy.ts";
import type { LimiterLabels } from "../common/publish.ts";
import type { CounterLimits } from "../operations/counter.ts";
import { prepareLimits } from "../operations/counter.ts";
import type { CountingStore } from "../store/store.ts";

/** Limits of one dimension that are counted together: they share a counter for each subject. */
export interface LimitGroup extends CounterLimits {
  /** The name of the limiter that these limits belong to. */
  readonly limiter: string;
  readonly dimension: string;
  /** How long a slot is held unless it is renewed, in microseconds; undefined for limits on units. */
  readonly slotTtl: number | undefined;
  /** The position of each limit in the configured policy. */
  readonly positions: readonly number[];
  /** The parts of a key before and after the subject. */
  readonly keyPrefix: string;
  readonly keySuffix: string;
  /** Whether it counts in this process, where a subject is its own key. */
  readonly isInMemory: boolean;
  /** The keys of recent subjects, by subject. */
  readonly recentKeys: Map<string, string>;
  /** The number of lookups that missed since `recentKeys` was last cleared. */
  keyMisses: number;
}

/** The limits of a limiter, compiled for a store. */
export interface CompiledPolicy {
  readonly store: CountingStore;
  readonly groups: readonly LimitGroup[];
  /** All limits, in the configured order. */
  readonly limits: readonly CompiledLimit[];
  /** The policy in canonical form: equal if and only if two limiters count in the same way. */
  readonly canonical: string;
  /**
   * Equal if and only if two limiters on one store use the same keys. A policy passed with a call has the keyspace of its limiter.
   */
  readonly keyspace: string;
  /**
   * For a policy passed with a call whose shape differs from its limiter's: equal if and only if two such policies use the same
   * keys. Otherwise undefined.
   */
  readonly perCallKeyspace?: string | undefined;
  /** Whether any limit is a concurrency limit. */
  readonly hasSlots: boolean;
  /** Whether a limit sets blocks when charges are settled. */
  readonly blocksOnSettle: boolean;
  /**
   * Whether the limiter is in shadow mode, and so denies no request. Does not affect counting: limiters of the same name share
   * their counters, in shadow mode or not.
   */
  readonly shadow: boolean;
  /** The labels of the limiter in published messages. They do not affect counting. */
  readonly labels: LimiterLabels;
}

/** A limit, and its position in the configured policy. */
interface PositionedLimit {
  readonly limit: CompiledLimit;
  readonly position: number;
}

/** A limit, and its id among the limits of its dimension. */
interface IdentifiedLimit extends PositionedLimit {
  readonly id: string;
}

/** How to compile a policy, except its limits. */
interface CompileOptions {
  readonly shadow?: boolean;
  readonly blockOn?: BlockOn;
  readonly plugin?: string | undefined;
}

/** The format of counters; part of every key, so that counters in another format have other keys. */
const FORMAT = 2;

/** Validates a policy and compiles it for a store. Throws `HEADGATE_INVALID_LIMIT`, `HEADGATE_INVALID_OPTION`. */
export function compileLimiterPolicy(
  name: string,
  policy: Policy,
  store: CountingStore,
  { shadow = false, blockOn, plugin }: CompileOptions = {},
): CompiledPolicy {
  const limits = compilePolicy(policy, blockOn);
  const positioned = limits.map((limit, position) => ({ limit, position }));
  const dimensions = [...new Set(limits.map(({ per }) => per))];
  const canonical: string[] = [];
  const groups = dimensions.flatMap((dimension) => {
    const members = sortLimits(positioned.filter(({ limit }) => limit.per === dimension));
    for (const { id, limit } of members) canonical.push(`${dimension}=${id}=${limit.canonical}`);
    return groupByCounter(members).map((group): LimitGroup => {
      const shape = `${FORMAT};${group.map(({ id }) => id).join(";")}`;
      const keySuffix = `}:${escapePart(name)}:${escapePart(dimension)}:${fingerprint(shape)}`;
      return {
        ...prepareLimits(group.map(({ limit }) => limit)),
        limiter: name,
        dimension,
        slotTtl: group[0]?.limit.shape.slotTtl,
        positions: group.map(({ position }) => position),
        keySuffix,
        isInMemory: store.transport === undefined,
        keyPrefix: `${store.prefix}:{`,
        recentKeys: new Map(),
        keyMisses: 0,
      };
    });
  });
  return {
    store,
    groups,
    limits,
    canonical: canonical.sort().join(";"),
    keyspace: [store.prefix, ...groups.map(({ keySuffix }) => keySuffix).sort()].join(";"),
    hasSlots: limits.some(({ shape }) => shape.slotTtl !== undefined),
    blocksOnSettle: limits.some(({ shape }) => shape.blocksOnSettle),
    shadow,
    labels: { limiter: name, plugin },
  };
}

/**
 * Sorts the limits of a dimension by id, so that the configured order does not affect the keys. The id is the shape and, for limits
 * of one shape, the name as well.
 */
function sortLimits(limits: readonly PositionedLimit[]): readonly IdentifiedLimit[] {
  const shapes = limits.map(({ limit }) => limit.shape.id);
  return limits
    .map(({ limit, position }) => {
      const { shape, name, source } = limit;
      if (shapes.filter((id) => id === shape.id).length === 1)
        return { limit, position, id: shape.id };
      if (source.name === undefined) throw unnamedLimitError(limit);
      return { limit, position, id: `${shape.id}=${escapePart(name)}` };
    })
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * Groups the limits of a dimension by counter. All limits on units share one counter. Each concurrency limit has its own, so that
 * charges, refunds and resets of units do not affect its slots.
 */
function groupByCounter(
  limits: readonly IdentifiedLimit[],
): readonly (readonly IdentifiedLimit[])[] {
  const unitLimits = limits.filter(({ limit }) => limit.shape.slotTtl === undefined);
  const slotLimits = limits.filter((limit) => !unitLimits.includes(limit)).map((limit) => [limit]);
  return unitLimits.length > 0 ? [unitLimits, ...slotLimits] : slotLimits;
}

function unnamedLimitError({ source, per }: CompiledLimit): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_LIMIT",
    `${source.algorithm}: two limits per ${formatReceived(per)} differ only in their numbers, which may change while they count: give each a name`,
  );
}

/** The limits that can be charged and settled: all but concurrency limits. */
export function chargeableLimits({ limits }: CompiledPolicy): readonly CompiledLimit[] {
  return limits.filter(({ shape }) => shape.slotTtl === undefined);
}

/**
 * Joins the policies of two limiters for one decision: the limits of the first, then those of the second. Throws
 * `HEADGATE_INVALID_OPTION` if they are on different stores, or if only one of them is in shadow mode.
 */
export function joinPolicies(first: CompiledPolicy, second: CompiledPolicy): CompiledPolicy {
  const sameStore =
    first.store.owner === second.store.owner && first.store.prefix === second.store.prefix;
  if (!sameStore) {
    throw invalidOption(
      "extends: one decision over two limiters needs both on the same store, with the same prefix",
    );
  }
  if (first.keyspace === second.keyspace) {
    throw invalidOption(
      "extends: a limiter cannot extend one of its own name that counts in the same way",
    );
  }
  if (first.shadow !== second.shadow) {
    throw invalidOption(
      `extends: both limiters must have the same shadow, because they make one decision; it is ${first.shadow} for the limiter that is extended, got ${second.shadow}`,
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
    perCallKeyspace: second.perCallKeyspace,
    hasSlots: first.hasSlots || second.hasSlots,
    blocksOnSettle: first.blocksOnSettle || second.blocksOnSettle,
    shadow: second.shadow,
    labels: second.labels,
  };
}
