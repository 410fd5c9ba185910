import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import type { LimiterControl } from "./control.ts";
import type { OverrideIndex } from "./override-index.ts";

/** The overrides of one limiter, indexed by subject. */
export interface LimiterOverrideIndex {
  readonly limiter: string;
  readonly index: OverrideIndex | undefined;
}

/** An operator's changes to a limiter, and to the one that it extends. */
export interface Overrides {
  /** The overrides of the limiter and of the one that it extends; undefined if there are none, so that `apply` can be skipped. */
  readonly indexes: readonly LimiterOverrideIndex[] | undefined;
  /** Reads the record again if it is due. */
  readonly refresh: LimiterControl["refresh"];
  /**
   * Counters with the overrides in force for them; the same list if there are none. `policy` is the policy that they belong to,
   * by default the limiter's own.
   */
  apply(counters: readonly SubjectCounter[], policy?: CompiledPolicy): readonly SubjectCounter[];
  /** After `refresh`: whether the limiter is in shadow mode for all subjects; undefined if no override applies to all subjects. */
  isInShadow(): Promise<boolean | undefined>;
  /**
   * Calls back within two seconds after the effective limits of counters differ from those of `waiting`, until the returned
   * function is called.
   */
  onChange(
    counters: readonly SubjectCounter[],
    policy: CompiledPolicy,
    waiting: readonly SubjectCounter[],
    callback: () => void,
  ): () => void;
}
