import { readPolicy } from "../algorithms/compile-policy.ts";
import { escapePart, unescapePart } from "../common/key.ts";
import { GLOBAL_DIMENSION, readBlockOn } from "../common/policy.ts";
import { compileLimiterPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { countersOfGivenSubjects, GLOBAL_SUBJECT } from "../policy/counters.ts";
import type { CountingStore } from "../store/store.ts";
import type { RegistryLimiter } from "./read-registry.ts";

/** The parts of a counter's key. */
export interface CounterKey {
  readonly dimension: string;
  /** Undefined if the key has a hash instead, as for a long subject. */
  readonly subject: string | undefined;
  /** Its last part, listed in the registry for each shape of a limiter. */
  readonly fingerprint: string;
}

/** The keys of a limiter's counters under a prefix. */
interface CounterKeys {
  /** A pattern for SCAN that matches them, and may match others. */
  readonly pattern: string;
  /** Undefined for a key of something else. */
  read(key: string): CounterKey | undefined;
}

/** The keys of the counters of a limiter, by its name. */
export function counterKeysOf(limiter: string, prefix: string): CounterKeys {
  const begin = `${prefix}:{`;
  const middle = `}:${escapePart(limiter)}:`;
  return {
    pattern: `${begin}*${middle}*`,
    read(key) {
      const at = key.indexOf(middle, begin.length);
      const [, dimension, fingerprint] =
        /^([^:]+):([\w-]{8})$/.exec(key.slice(at + middle.length)) ?? [];
      const per = unescapePart(dimension ?? "");
      if (!key.startsWith(begin) || at < 0 || !per || fingerprint === undefined) return undefined;
      return { dimension: per, subject: unescapePart(key.slice(begin.length, at)), fingerprint };
    },
  };
}

/** The counters of a subject, given as part of a key, in a dimension of a limiter and of those that it extends. */
type CounterLookup = (
  limiter: string,
  dimension: string,
  part: string,
) => readonly SubjectCounter[];

/** Makes counters under the policies of limiters, by name; each is compiled once for a dimension. */
export function createCounterLookup(
  store: CountingStore,
  policies: ReadonlyMap<string, readonly RegistryLimiter[]>,
): CounterLookup {
  const countersByDimension = new Map<string, readonly SubjectCounter[]>();

  /** Counters of any subject. */
  function compileCounters(
    limiter: string,
    dimension: string,
    seen: readonly string[],
  ): SubjectCounter[] {
    const listed = seen.includes(limiter) ? [] : (policies.get(limiter) ?? []);
    return listed.flatMap(
      ({ name, limits, blockOn, shadow, shapes, perCallPolicies = [], extends: base }) => {
        const extended =
          base === undefined ? [] : compileCounters(base, dimension, [...seen, limiter]);
        const subject = dimension === GLOBAL_DIMENSION ? GLOBAL_SUBJECT : "any";
        const own = [{ limits, shapes }, ...perCallPolicies]
          .filter((policy) => policy.shapes.some(({ per }) => per === dimension))
          .flatMap((policy) => {
            const how = { blockOn: readBlockOn(blockOn), shadow };
            const compiled = compileLimiterPolicy(name, readPolicy(policy.limits), store, how);
            return countersOfGivenSubjects(compiled, { [dimension]: subject });
          });
        return [...own, ...extended];
      },
    );
  }

  return (limiter, dimension, part) => {
    const id = JSON.stringify([limiter, dimension]);
    const known = countersByDimension.get(id) ?? compileCounters(limiter, dimension, []);
    countersByDimension.set(id, known);
    const byKey = new Map<string, SubjectCounter>();
    for (const counter of known) {
      const { keyPrefix, keySuffix } = counter.group;
      const key = keyPrefix + part + keySuffix;
      byKey.set(key, { ...counter, key });
    }
    return [...byKey.values()];
  };
}
