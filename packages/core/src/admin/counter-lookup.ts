import { readPolicy } from "../algorithms/read-policy.ts";
import { GLOBAL_DIMENSION, readBlockOn } from "../common/policy.ts";
import { compileLimiterPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import { countersOfGivenSubjects, GLOBAL_SUBJECT } from "../policy/counters.ts";
import type { CountingStore } from "../store/store.ts";
import type { RegistryLimiter } from "./registry.ts";

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
