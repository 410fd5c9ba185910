import type { ChargeResult, Cost } from "../common/cost.ts";
import type { Decision } from "../common/decision.ts";
import type { BlockOn, LimitDescription, Policy } from "../common/policy.ts";
import type { CheckedDuration, Duration } from "../common/time.ts";
import type { Subjects } from "../policy/counters.ts";
import type { Store } from "../store/store.ts";
import type { FailureOptions } from "./failure-options.ts";

/** The cost of a call. */
export interface CostOptions<Units extends Cost = Cost> {
  /**
   * The units to charge: a whole number of at least 0. Default 1. Or an object with the units of each named limit, each a whole
   * number of at least 0. Limits without a name in it cost 1, and 0 leaves a limit out. A name stands for all limits with that
   * name. Units by name cannot be used with `lease`.
   *
   * A cost of 0 charges nothing, takes no slot, and is allowed unless the subject is blocked. It can be settled at its real
   * cost.
   */
  readonly cost?: Units | undefined;
}

/** Options of calls that take a subject. */
export interface SubjectOptions {
  /**
   * Whether to ignore dimensions that the limiter does not count by, so that one subject fits several limiters. Default false:
   * they are an error. A dimension that the limiter counts by must still have a subject.
   */
  readonly ignoreUnknownDimensions?: boolean | undefined;
}

/** Options of `block`. */
export interface BlockOptions extends SubjectOptions {
  /**
   * Why the subject is blocked, for operators: 1 to 200 characters. `headgate blocks` and the dashboard list a block with a
   * reason within seconds, if the store keeps usage; without one they list it once it has denied a request.
   */
  readonly reason?: string | undefined;
}

/** Options of `consume` and `peek`. */
export interface ConsumeOptions<Dimension extends string = string>
  extends CostOptions,
    SubjectOptions {
  /**
   * The limits of this call, by the limiter's dimensions. They replace the limiter's own limits, but not those of a limiter
   * that it extends. With other numbers (`limit`, `burst`, `capacity`, `refill`, `block`, `notifyAt`) the counts and the names
   * of the limits stay. Limits of another shape (another window, another algorithm, more or fewer of them) have a counter of
   * their own, so never let a client choose them. 64 shapes of a limiter are in use at a time. Beyond that, the process forgets
   * the least recently used, whose counters stay in the store. They are plain data and compiled once: 10,000 policies are
   * cached, and a changed object is compiled again. Cannot be used with `lease`.
   */
  readonly limits?: Policy<Dimension> | undefined;
  /** Only for `UpToOptions`. */
  readonly upTo?: undefined;
}

/** Options of `consume` and `peek` to take as many units as are left. */
export interface UpToOptions<Dimension extends string = string>
  extends Pick<ConsumeOptions<Dimension>, "limits" | "ignoreUnknownDimensions"> {
  /**
   * The most units to charge: a whole number of at least 1, which may be more than a limit can ever grant. The call charges as
   * many as every limit has left, and is denied if that is none. A concurrency limit gives one slot, as always. Cannot be
   * used with `cost` or `lease`.
   */
  readonly upTo: number;
  readonly cost?: undefined;
}

/** Options of `charge`. */
export interface ChargeOptions<Units extends Cost = Cost, Dimension extends string = string>
  extends CostOptions<Units>,
    Pick<ConsumeOptions<Dimension>, "limits" | "ignoreUnknownDimensions"> {}

/** Options of `wait`. */
export interface WaitOptions<Dimension extends string = string> extends ConsumeOptions<Dimension> {
  /** The longest wait: 1 ms to 366 days. Default: as long as it takes. */
  readonly timeout?: Duration | undefined;
  /** Ends the wait: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `run`. */
export interface RunOptions<Dimension extends string = string> extends ConsumeOptions<Dimension> {
  /** The longest wait for admission: up to 366 days; 0 for no wait. Default: as long as it takes. */
  readonly timeout?: Duration | 0 | undefined;
  /** Ends the wait, and aborts the signal passed to the work. */
  readonly signal?: AbortSignal | undefined;
}

/** The argument that `run` passes to its work. */
export interface RunContext {
  /** Aborts when a slot that the work holds is lost, and when the caller's signal aborts. */
  readonly signal: AbortSignal;
  readonly decision: Decision;
}

/** Options of `meter`. */
export interface MeterOptions<Dimension extends string = string>
  extends Pick<ConsumeOptions<Dimension>, "limits" | "ignoreUnknownDimensions"> {
  /** Units that arrive between two charges: a whole number of at least 1, well below the limits. */
  readonly every: number;
  /**
   * Units that are charged before the stream begins: a whole number of at least 0. Default `every`. With 0, the stream takes no
   * slot of a concurrency limit.
   */
  readonly estimate?: number | undefined;
}

/** A stream whose units are charged while they are used. */
export interface Meter {
  /** The decision on the estimate. If it is not `allowed`, nothing was charged, and nothing will be. */
  readonly decision: Decision;
  /**
   * Aborts when the stream should stop. The reason is `HEADGATE_DENIED`, whose `cause` is the decision, if the estimate or a later
   * charge was denied; `HEADGATE_SLOT_LOST`; `HEADGATE_CLOSED` after `close` of the limiter; or the error of a charge.
   */
  readonly signal: AbortSignal;
  /** The units added so far. */
  readonly used: number;
  /**
   * Adds units that were used: a whole number of at least 0. Those beyond the estimate are charged once there are `every`, or after
   * 250 ms. Throws `HEADGATE_INVALID_COST`, and `HEADGATE_CLOSED` after `end`. After `close` of the limiter, units are ignored.
   */
  add(units: number): void;
  /**
   * Settles the charge at the units that were used, as `settle` does, and releases slots. `charged` is the total. Resolves with
   * the same result each time. Rejects with the errors of `settle`.
   */
  end(): Promise<ChargeResult>;
}

/** A rate limiter: a named policy on a store. */
export interface Limiter<Dimension extends string = string> {
  readonly name: string;
  /** The limits in the numbers that clients see, in the order of the policy. */
  readonly limits: readonly LimitDescription[];

  /**
   * Decides whether to admit a request, and charges the cost if every limit allows it. A denial costs nothing, and is returned,
   * not thrown. Resolves within `storeTimeout`: if the store did not answer, the decision is `degraded`, and made according to
   * `onUnavailable`. With `upTo` it charges as many units as every limit has left, at least one, and `granted` says how many.
   * Rejects with `HEADGATE_EMPTY_KEY`, `HEADGATE_INVALID_KEY`, `HEADGATE_INVALID_COST`, `HEADGATE_CLOSED`, and
   * with `HEADGATE_INVALID_LIMIT` for invalid `limits`, including `limits` of a dimension that the limiter lacks.
   */
  consume(
    subject: Subjects<Dimension>,
    options?: ConsumeOptions<Dimension> | UpToOptions<Dimension>,
  ): Promise<Decision>;

  /**
   * Returns the decision that `consume` would make now, without charging. With a cost of 0 it reports the current state of the
   * limits, and is always allowed unless the store is unavailable and `onUnavailable` is `"deny"`. Rejects with the same errors
   * as `consume`.
   */
  peek(
    subject: Subjects<Dimension>,
    options?: ConsumeOptions<Dimension> | UpToOptions<Dimension>,
  ): Promise<Decision>;

  /**
   * Refunds the charge of a decision, as far as it has not recovered by itself. Resolves with true if something was refunded.
   * Works once for each decision, and never leaves more room than if the decision had not been made. Rejects with
   * `HEADGATE_STORE_UNAVAILABLE` if the store did not answer in time. The refund may or may not have happened then. If the
   * store was already known to be down, nothing was sent, and the call can be repeated. Also rejects with the store's other
   * errors, like `reset`.
   */
  refund(decision: Decision): Promise<boolean>;

  /**
   * Charges a subject even if less is left of its limits, as a penalty or for work done elsewhere. Usage beyond the limit is
   * overdrawn, and stays so until it drains or expires. Resolves within `storeTimeout`: a charge that the store did not receive
   * is `degraded`, and counts in this process if `onUnavailable` is `"local"`. Rejects with the same errors as `consume`, and
   * with `HEADGATE_WRONG_TYPE`, `HEADGATE_BAD_REPLY`.
   */
  charge<Units extends Cost = number>(
    subject: Subjects<Dimension>,
    options?: ChargeOptions<Units, Dimension>,
  ): Promise<ChargeResult<Units>>;

  /**
   * Changes the cost of a decision to `units`, a whole number of at least 0, once the real cost of the request is known. If the
   * real cost is less than the charge, the rest is refunded as by `refund`. If it is more, the difference is charged now as by
   * `charge`, even after a reset. Works once for each decision; does nothing for one that was denied, refunded or settled
   * before. A change that the store did not receive is `degraded`, and the decision keeps its cost. If the store was known to
   * be down, the decision can be settled again. In a limiter with `blockOn: "settle"`, `units` are confirmed, and may set a
   * block.
   *
   * `units` by limits' names settle those limits; the others keep their charge. A decision with a cost by name is settled by
   * name, including the limits that it left out, or at 0, which refunds everything. Rejects with `HEADGATE_INVALID_COST`,
   * `HEADGATE_INVALID_DECISION`, `HEADGATE_CLOSED`, `HEADGATE_WRONG_TYPE`, `HEADGATE_BAD_REPLY`.
   */
  settle<Units extends Cost>(decision: Decision, units: Units): Promise<ChargeResult<Units>>;

  /**
   * Forgets a subject, in each named dimension, in this limiter only, including the other shapes of limits that this process
   * uses. Resolves with true if a record was deleted. Also ends a block set by a limit, but not one set by hand. To forget all
   * clients, name the dimension: `reset({ global: "*" })`. With `ignoreUnknownDimensions`, dimensions that this limiter does
   * not count by are ignored, so that one subject works for several limiters. Rejects with `HEADGATE_STORE_UNAVAILABLE` if the
   * store did not answer in time, and with `HEADGATE_STORE_MISCONFIGURED`, `HEADGATE_HASH_SLOT_UNAVAILABLE`,
   * `HEADGATE_WRONG_TYPE`, `HEADGATE_BAD_REPLY`.
   */
  reset(subject: Subjects<Dimension>, options?: SubjectOptions): Promise<boolean>;

  /**
   * Denies every request of a subject for 1 ms to 366 days, in each named dimension, in this limiter only; all clients only if
   * `global` is named. Limits of other shapes are blocked if this process uses them now. Never shortens an existing block.
   * Processes with a cached denial or a lease for the subject notice the block when that expires. Rejects with
   * `HEADGATE_INVALID_OPTION` for an invalid duration, and with the same errors as `reset`.
   */
  block<const Text extends string = string>(
    subject: Subjects<Dimension>,
    duration: CheckedDuration<Text>,
    options?: BlockOptions,
  ): Promise<void>;

  /**
   * Ends the blocks of a subject, whether set by a limit or by hand. Resolves with true if it was blocked. Does not change its
   * usage. Rejects with the same errors as `reset`.
   */
  unblock(subject: Subjects<Dimension>, options?: SubjectOptions): Promise<boolean>;

  /**
   * Waits for admission: first come, first served among the calls of this process for the same subjects. In shadow mode, no
   * call waits. Rejects with `HEADGATE_WAIT_TIMEOUT`, `HEADGATE_QUEUE_FULL`, `HEADGATE_COST_ABOVE_LIMIT`, the signal's reason,
   * and the same errors as `consume`.
   */
  wait(subject: Subjects<Dimension>, options?: WaitOptions<Dimension>): Promise<Decision>;

  /**
   * Releases the slots that a decision holds, once; units stay charged. Resolves with true if a slot was still held. Works also
   * after `close`. Rejects with `HEADGATE_INVALID_DECISION`, and with the same errors as `refund` if the store did not answer
   * in time: then the slots expire after `ttl`, or the call can be repeated.
   */
  release(decision: Decision): Promise<boolean>;

  /**
   * Waits like `wait`, runs `work`, and releases its slots when the work ends, whether or not it fails. Until then they are
   * renewed. With a `timeout` of 0 it does not wait, and rejects with `HEADGATE_DENIED`, whose `cause` is the decision.
   * Otherwise rejects with the same errors as `wait`, and with the error thrown by `work`.
   */
  run<T>(
    subject: Subjects<Dimension>,
    work: (admitted: RunContext) => T | Promise<T>,
    options?: RunOptions<Dimension>,
  ): Promise<T>;

  /**
   * Meters a stream, whose units are charged while they are used, such as the tokens of a language model. Charges the estimate
   * like `consume`, then further units as they come. When such a charge is denied, the meter's `signal` aborts. Until then, at
   * most `every` units, one chunk, and what arrives during two calls to the store are not charged yet. The stream counts as one
   * request. If the process dies, what was charged stays charged. Rejects with the same errors as `consume`, and with
   * `HEADGATE_INVALID_OPTION` for a limiter with `blockOn: "settle"` or without a limit of units.
   */
  meter(subject: Subjects<Dimension>, options: MeterOptions<Dimension>): Promise<Meter>;

  /**
   * Prepares the store for the first decision: connects, reads operators' changes, and loads the scripts. Resolves with whether
   * the store answered, within `connectTimeout`; `true` at once in memory. An unavailable store is not an error. Rejects with
   * `HEADGATE_CLOSED`, and with `HEADGATE_BAD_REPLY` or `HEADGATE_WRONG_TYPE`, like `reset`.
   */
  ready(): Promise<boolean>;

  /**
   * Frees the name, rejects the waiting calls with `HEADGATE_CLOSED`, and ends meters. Resolves when the decisions in progress
   * have been made. For HTTP requests whose callbacks, such as `key`, do not settle, it waits a second at most. The store's
   * client stays open.
   */
  close(): Promise<void>;
}

/** Options of `createLimiter`. */
export interface LimiterOptions<Per extends string = string> extends FailureOptions {
  /** The identity of the counters, across processes and deploys. Required with a `store`. */
  readonly name?: string | undefined;
  /** The limits decided together. */
  readonly limits: Policy<Per>;
  /** Where counts are stored. Default: a separate `memoryStore()`. */
  readonly store?: Store | undefined;
  /**
   * A limiter on the same store whose limits are decided together with these, under these options. It must not extend another
   * itself.
   */
  readonly extends?: Limiter | undefined;
  /** The most calls of `wait` and requests that may be waiting at once: at least 1. Default 1,000. */
  readonly maxQueue?: number | undefined;
  /**
   * Shadow mode: decides, counts and publishes, but denies no request. Decisions are `allowed`, and `wouldAllow` is the
   * decision outside shadow mode. Default false. A limiter and the one it extends are both in shadow mode, or neither.
   */
  readonly shadow?: boolean | undefined;
  /**
   * When limits with `block` set it: on a denial, or with `"settle"` once `settle` has confirmed as many units in one window as
   * the limit grants. Then every decision must be settled, at 0 if it should not count, and only a `fixedWindow` may have
   * `block`. Default `"denial"`.
   */
  readonly blockOn?: BlockOn | undefined;
}
