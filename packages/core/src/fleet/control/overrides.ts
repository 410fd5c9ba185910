import type { CountedPolicy } from "../../counting/counted-policy.ts";
import type { SubjectCounter } from "../../counting/counters.ts";
import type { LimiterControl } from "./control.ts";
import type { OverridesInForce } from "./overrides-in-force.ts";

/** The overrides of one limiter. */
export interface LimiterOverrides {
  readonly limiter: string;
  readonly overrides: OverridesInForce | undefined;
}

/** What an operator has changed of a limiter, and of the one that it extends. */
export interface Overrides {
  /** Those of the limiter, and of the one that it extends; undefined if there are none, so that `apply` need not be called. */
  readonly inForce: readonly LimiterOverrides[] | undefined;
  /** Has the record read again where it is due. */
  readonly refresh: LimiterControl["refresh"];
  /**
   * Counters under the overrides that are in force for them; the same list if none is. `policy` is the one that they belong to; default:
   * the limiter's own.
   */
  apply(counters: readonly SubjectCounter[], policy?: CountedPolicy): readonly SubjectCounter[];
  /** Whether nobody at all is denied, after `refresh`; undefined where no override is for all subjects. */
  shadow(): Promise<boolean | undefined>;
  /**
   * Calls back within two seconds when counters are under other terms than those by which they were asked, until the function
   * that is returned is called.
   */
  onChange(
    counters: readonly SubjectCounter[],
    policy: CountedPolicy,
    asked: readonly SubjectCounter[],
    callback: () => void,
  ): () => void;
}
