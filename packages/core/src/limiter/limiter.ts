import type { Charged } from "../charged.ts";
import type { Cost } from "../cost.ts";
import type { Decision } from "../decision.ts";
import { formatKind, HeadgateError } from "../errors.ts";
import type { BlockOn, LimitDescription, Policy } from "../policy.ts";
import type { Store } from "../store/store.ts";
import type { Duration } from "../time.ts";
import type { CountedPolicy, Group } from "./counted-policy.ts";
import type { Subjects } from "./counters.ts";
import type { Turn, TurnOptions } from "./line/line.ts";
import type { FailureOptions, StoreWatch } from "./outage/outage.ts";
import type { LimiterUsage } from "./usage/limiter-usage.ts";

/** Other parts of Headgate, and other copies of it, find what they need of a limiter here. */
export const LIMITER: unique symbol = Symbol.for("@headgate/core.limiter") as never;

/** How a limiter is seen by the rest of Headgate. */
export interface LimiterParts {
  readonly counted: CountedPolicy;
  /** The limiter it extends. */
  readonly parent: Limiter | undefined;
  /** `consume` of some of its groups only, which is not published. */
  consumeIn(
    groups: readonly Group[],
    subject: Subjects,
    options: ConsumeOptions | undefined,
  ): Promise<Decision>;
  /** `consumeIn` that waits its turn when it is denied. Undefined when nobody waits for the answer any more. */
  consumeInTurn(
    groups: readonly Group[],
    subject: Subjects,
    options: ConsumeOptions | undefined,
    turn: TurnOptions,
  ): Promise<Turn | undefined>;
  /** How its store is watched; undefined where the store is this process's memory. */
  readonly watch: StoreWatch | undefined;
  /** What its decisions are counted in, also those of `consumeIn` and `consumeInTurn` by who asks them; undefined where the store keeps no usage. */
  readonly usage: LimiterUsage | undefined;
  /** Whether it takes units ahead, which are of all its limits alike. */
  readonly hasLease: boolean;
  /** Whether it denies nobody, as far as that is known without a subject. */
  isInShadow(): Promise<boolean>;
  isClosed(): boolean;
}

export interface CostOptions<Units extends Cost = Cost> {
  /**
   * Units asked for, or charged: a whole number, at least 1; at least 0 for `peek`. Default 1. Or by the names of limits, as the
   * policy was written, each a whole number of at least 0: those that are not named cost 1, and 0 leaves a limit out; one limit at
   * least is asked. A name stands for all limits that have it. By name not with `lease`.
   */
  readonly cost?: Units | undefined;
}

export interface ConsumeOptions<Dimension extends string = string> extends CostOptions {
  /**
   * The limits of this call: the limiter's own, those of a limiter that it extends left out, with other numbers of units
   * (`limit`, `burst`, `capacity`, `refill`). The counts and the names of the limits stay. Plain data, and compiled once: 10,000
   * policies are kept, and an object that was changed since is read anew. Not with `lease`.
   */
  readonly limits?: Policy<Dimension> | undefined;
}

export interface WaitForOptions extends CostOptions {
  /** The longest wait. Default: as long as it takes. */
  readonly timeout?: Duration | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface RunOptions extends CostOptions {
  /** The longest wait for admission; 0 for none at all. Default: as long as it takes. */
  readonly timeout?: Duration | 0 | undefined;
  /** Ends the wait, and aborts the signal that the work has. */
  readonly signal?: AbortSignal | undefined;
}

/** What work under a limiter is given. */
export interface AdmittedWork {
  /** Aborts when a place that the work holds is lost, and when the caller's signal does. */
  readonly signal: AbortSignal;
  readonly decision: Decision;
}

/** A named policy on a store. */
export interface Limiter<Dimension extends string = string> {
  readonly name: string;
  /** What each limit promises, in the order of the policy. */
  readonly limits: readonly LimitDescription[];

  /**
   * Asks for admission and charges it, if every limit allows; a denial costs nothing, and is a value. Answers within
   * `storeTimeout`: when the store could not, the decision is `degraded`, taken as `onUnavailable` says.
   * Rejects with `HEADGATE_EMPTY_KEY`, `HEADGATE_INVALID_KEY`, `HEADGATE_INVALID_COST`, `HEADGATE_CLOSED`, and with
   * `HEADGATE_INVALID_LIMIT` for `limits` that differ from the limiter's in more than numbers.
   */
  consume(subject: Subjects<Dimension>, options?: ConsumeOptions<Dimension>): Promise<Decision>;

  /**
   * The answer that `consume` would give now, nothing charged. With a cost of 0 it reports the limits as they are and is
   * always allowed, unless the store could not answer and `onUnavailable` is `"deny"`. Rejects as `consume`.
   */
  peek(subject: Subjects<Dimension>, options?: ConsumeOptions<Dimension>): Promise<Decision>;

  /**
   * Gives back what a decision charged, as far as it has not come back by itself; true if something was given back.
   * Works once for each decision, and never leaves more room than if the decision had not been asked. Rejects with
   * `HEADGATE_STORE_UNAVAILABLE` when the store gave no answer in time: whether it gave back is not known then, unless it
   * was known to be down, and the same can be asked again. Rejects with what else the store may say, as `reset`.
   */
  refund(decision: Decision): Promise<boolean>;

  /**
   * Charges a subject whatever is left of its limits: a penalty, or work that was done elsewhere. What is more than was left
   * is overdrawn, and nothing of it is forgiven until it drains or expires. Answers within `storeTimeout`: what the store did
   * not get is `degraded`, and counts in this process where `onUnavailable` is `"local"`. Rejects as `consume`, and with
   * `HEADGATE_WRONG_TYPE`, `HEADGATE_BAD_REPLY`.
   */
  charge<Units extends Cost = number>(
    subject: Subjects<Dimension>,
    options?: CostOptions<Units>,
  ): Promise<Charged<Units>>;

  /**
   * Makes a decision cost `units`, a whole number of at least 0: what its request turned out to cost. Less than it was charged
   * is given back, as `refund` does; more is charged now, as `charge` does, also where the limits were reset meanwhile. Works
   * once for each decision; nothing is done for one that was denied, given back or settled before. What the store did not get
   * is `degraded`, and costs what it did; the same can be settled again where the store was known to be down. In a limiter with
   * `blockOn: "settle"`, `units` are what is kept, and may block.
   *
   * `units` by the names of limits are for those limits; others keep what they were charged. A decision with a cost by name is
   * settled by name, also limits that it left out, or at 0, which gives back all of it. Rejects with
   * `HEADGATE_INVALID_COST`, `HEADGATE_INVALID_DECISION`, `HEADGATE_CLOSED`, `HEADGATE_WRONG_TYPE`, `HEADGATE_BAD_REPLY`.
   */
  settle<Units extends Cost>(decision: Decision, units: Units): Promise<Charged<Units>>;

  /**
   * Forgets a subject, in each dimension that is named, in this limiter only; true if a record of it was deleted. A block that a
   * limit has set ends with it, one by hand stays. Everybody is forgotten only by name: `reset({ global: "*" })`. Rejects with `HEADGATE_STORE_UNAVAILABLE` when the store gave no
   * answer in time, and with `HEADGATE_STORE_MISCONFIGURED`, `HEADGATE_SLOT_UNAVAILABLE`, `HEADGATE_WRONG_TYPE`,
   * `HEADGATE_BAD_REPLY`.
   */
  reset(subject: Subjects<Dimension>): Promise<boolean>;

  /**
   * Denies a subject everything for a time, 1 ms to 366 days, in each dimension that is named, in this limiter only; everybody only
   * by name. A block that is there is not made shorter. Processes that remember a denial, or hold a lease, learn of it when that is
   * over. Rejects with `HEADGATE_INVALID_OPTION` for a time that is none, and as `reset`.
   */
  block(subject: Subjects<Dimension>, duration: Duration): Promise<void>;

  /**
   * Ends what blocks a subject, whether a limit or a hand has set it; true if it was blocked. What it has used stays used. Rejects
   * as `reset`.
   */
  unblock(subject: Subjects<Dimension>): Promise<boolean>;

  /**
   * Waits for admission, first come, first served in this process among those who name the same subjects; in shadow, nobody
   * waits. Rejects with `HEADGATE_WAIT_TIMEOUT`,
   * `HEADGATE_QUEUE_FULL`, `HEADGATE_COST_ABOVE_LIMIT`, the signal's reason, and all that `consume` rejects with.
   */
  wait(subject: Subjects<Dimension>, options?: WaitForOptions): Promise<Decision>;

  /**
   * Gives back the places that a decision holds, once, and nothing else: units stay charged. True if a place was still held. Also
   * after `close`. Rejects with `HEADGATE_INVALID_DECISION`, and as `refund` does when the store gave no answer in time: then
   * the places lapse, or can be given back again.
   */
  release(decision: Decision): Promise<boolean>;

  /**
   * Waits for its turn as `wait` does, runs `work`, and gives its places back when that is over, whatever came of it; meanwhile they
   * are renewed. With a `timeout` of 0 it does not wait, and rejects with `HEADGATE_DENIED`, whose `cause` is the decision.
   * Otherwise rejects as `wait`, and with what `work` throws.
   */
  run<T>(
    subject: Subjects<Dimension>,
    work: (admitted: AdmittedWork) => T | Promise<T>,
    options?: RunOptions,
  ): Promise<T>;

  /** Frees the name and rejects everybody who waits. The store's client stays open. */
  close(): Promise<void>;

  readonly [LIMITER]: LimiterParts;
}

export interface LimiterOptions<Per extends string = string> extends FailureOptions {
  /** The identity of the counters, across processes and deploys. Required with a `store`. */
  readonly name?: string | undefined;
  /** The limits decided together. */
  readonly limits: Policy<Per>;
  /** Where counts live. Default: a `memoryStore()` of its own. */
  readonly store?: Store | undefined;
  /** A limiter on the same store whose limits are decided together with these, under these options. It extends none itself. */
  readonly extends?: Limiter | undefined;
  /** How many calls of `wait`, and requests, may be waiting at once, from 1. Default 1,000. */
  readonly maxQueue?: number | undefined;
  /**
   * Decides, counts and publishes, and denies nobody: decisions are `allowed`, and `wouldAllow` says what they would be without.
   * Default false. A limiter and the one it extends are both in shadow, or neither.
   */
  readonly shadow?: boolean | undefined;
  /**
   * What sets the blocks of limits with `block`: a denial, or that as many units are kept in a window as the limit grants, by
   * `settle`. Then every decision is to be settled, at 0 where it shall not count, and only `fixedWindow` may block. Default
   * `"denial"`.
   */
  readonly blockOn?: BlockOn | undefined;
}

/** The parts of a limiter that any copy of Headgate made. Throws `HEADGATE_INVALID_OPTION` for anything else. */
export function partsOf(limiter: unknown): LimiterParts {
  const parts =
    typeof limiter === "object" && limiter !== null
      ? (limiter as Partial<Limiter>)[LIMITER]
      : undefined;
  if (parts !== undefined) return parts;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `a limiter made by createLimiter is needed, got ${formatKind(limiter)}`,
  );
}
