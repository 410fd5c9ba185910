import type { SubjectCounter } from "../counters.ts";

/** What an operator has changed of a limiter, and of the one that it extends. */
export interface Overrides {
  /** Learns what is known now. A promise where the server is asked for it first; undefined where there is nothing to wait for. */
  refresh(): Promise<void> | undefined;
  /** Learns what is known, without asking the server. */
  see(): void;
  /** Counters under what is in force for them; the same list where nothing is. */
  apply(counters: readonly SubjectCounter[]): readonly SubjectCounter[];
  /** Whether nobody at all is denied, after `refresh`; undefined where no override is for all subjects. */
  shadow(): Promise<boolean | undefined>;
  /**
   * Calls back within two seconds when counters are under other terms than those by which they were asked, until the function
   * that is returned is called.
   */
  onChange(
    counters: readonly SubjectCounter[],
    asked: readonly SubjectCounter[],
    callback: () => void,
  ): () => void;
}
