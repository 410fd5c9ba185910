import type { Charged } from "../charged.ts";
import type { Cost } from "../cost.ts";
import type { Decision } from "../decision.ts";
import type { DecideMode } from "../store/decide-call.ts";
import type { SubjectCounter, Subjects } from "./counters.ts";
import type { StoreWatch } from "./outage/outage.ts";

/** Decides requests on one store, charges counters, and gives back what was charged. */
export interface Decider {
  /** How the store is watched; undefined where it is this process's memory. */
  readonly watch: StoreWatch | undefined;
  /**
   * Counters that a cost by name leaves out are not asked, and may be charged when the decision is settled. `waitedMs` of
   * `storeTimeout` are over already. Default 0.
   */
  decide(
    counters: readonly SubjectCounter[],
    cost: number,
    mode: DecideMode,
    waitedMs?: number,
  ): Promise<Decision>;
  /** The same without waiting, if this process knows enough to admit a subject. */
  readonly admitKnown?: (subject: Subjects, cost: number) => Decision | undefined;
  /** Gives back the units held ahead for counters that are overridden. */
  readonly endLeases?: (isOverridden: (counter: SubjectCounter) => boolean) => void;
  /** Gives back what a decision charged, once; true if something was. Rejects with `HEADGATE_INVALID_DECISION`. */
  giveBack(decision: Decision): Promise<boolean>;
  /** Charges counters, whatever is left of their limits. */
  charge(counters: readonly SubjectCounter[], cost: number): Promise<Charged<Cost>>;
  /** Changes the cost of a decision, once. Rejects with `HEADGATE_INVALID_DECISION`. */
  settle(decision: Decision, units: Cost): Promise<Charged<Cost>>;
  /** Blocks counters for so many microseconds, or ends their blocks with 0; true if one was blocked, or was until now. */
  block(counters: readonly SubjectCounter[], span: number): Promise<boolean>;
  /** Forgets counters, but no block by hand; true if there was anything to forget. */
  forget(counters: readonly SubjectCounter[]): Promise<boolean>;
  /** Gives back what it holds, and frees what it shares with others. */
  close(): Promise<void>;
}
