import type { Decision, LimitState } from "../base/decision.ts";
import type { BlockOn, Policy } from "../base/policy.ts";
import type { Duration } from "../base/time.ts";
import type { Subjects } from "../counting/counters.ts";
import type { ActionLog } from "../fleet/control/log-entry.ts";
import type { ControlRecord, DeniedNetwork, Override } from "../fleet/control/record.ts";
import type { CostOptions } from "../limiter/limiter.ts";

/** What an operator can do to the limiters of a prefix, from any process. */
export interface Operator {
  /** Returns what a subject has used of each limit, in each dimension that is named. Rejects with the same errors as `reset`. */
  inspect(limiter: OperatedLimiter, subject: Subjects): Promise<Inspection>;

  /**
   * Returns the answer that a request would get now under the overrides in force, and charges nothing. It looks at each dimension that is named: what a
   * limiter counts by others is left out. A process may answer differently for a moment, by its memory: a denial that it
   * remembers, or units that it has leased. Rejects with the same errors as `reset`, and with `HEADGATE_INVALID_COST`.
   */
  peek(limiter: OperatedLimiter, subject: Subjects, options?: CostOptions): Promise<Decision>;

  /**
   * Like `limiter.reset`, but for all processes. Rejects with `HEADGATE_INVALID_OPTION`, `HEADGATE_INVALID_LIMIT`,
   * `HEADGATE_EMPTY_KEY`, `HEADGATE_INVALID_KEY`, and with the store's errors. After `HEADGATE_STORE_UNAVAILABLE` it is not known
   * how much was done; the action can be repeated. After `HEADGATE_CONTROL_DAMAGED` nothing was done.
   */
  reset(
    limiter: OperatedLimiter,
    subject: Subjects,
    options?: SubjectActionOptions,
  ): Promise<Action<Inspection>>;

  /** Like `limiter.block`, but for all processes. Rejects with the same errors as `reset`. */
  block(
    limiter: OperatedLimiter,
    subject: Subjects,
    duration: Duration,
    options?: SubjectActionOptions,
  ): Promise<Action<Inspection>>;

  /** Like `limiter.unblock`, but for all processes. Rejects with the same errors as `reset`. */
  unblock(
    limiter: OperatedLimiter,
    subject: Subjects,
    options?: SubjectActionOptions,
  ): Promise<Action<Inspection>>;

  /**
   * Erases a subject, except for the places that its work holds: what it has used in this limiter, and its blocks, also
   * those set by hand; and in the whole prefix the overrides for it, and its name in the log. The log says that somebody was forgotten.
   * Rejects with the same errors as `reset`.
   */
  forget(limiter: OperatedLimiter, subject: Subjects, options?: ActionOptions): Promise<Forgotten>;

  /**
   * Overrides the numbers of a limiter or of one of its subjects, or puts it in shadow. Replaces an override that was set for the
   * same before. Rejects with `HEADGATE_INVALID_OPTION`, also if there are 1,000 already, and with the same errors as `reset`.
   */
  setOverride(
    override: NewOverride,
    options?: OverrideOptions,
  ): Promise<Action<Override | undefined>>;

  /** Removes the override of a limiter, or of one of its subjects, if there is one. Rejects with the same errors as `reset`. */
  unsetOverride(of: OverridePlace, options?: ActionOptions): Promise<Action<Override | undefined>>;

  /**
   * Denies an address, or a network such as `203.0.113.0/24`, in all HTTP limiters of the prefix: their requests are answered with
   * 403, as by `blockList`. Replaces the entry for the same network. Rejects with `HEADGATE_INVALID_OPTION`, also for a network wider
   * than /8 of IPv4 or /16 of IPv6 and if there are 1,000 entries already, and with the same errors as `reset`.
   */
  addToDenyList(
    network: string,
    options?: OverrideOptions,
  ): Promise<Action<DeniedNetwork | undefined>>;

  /** Removes the entry of exactly this address or network from the deny list, if there is one. Rejects with the same errors as `reset`. */
  removeFromDenyList(
    network: string,
    options?: ActionOptions,
  ): Promise<Action<DeniedNetwork | undefined>>;

  /**
   * Returns the entries of the deny list that have not ended; with an address, only those that contain it. Times are microseconds of
   * the server's clock. Rejects with `HEADGATE_INVALID_OPTION`, `HEADGATE_CONTROL_DAMAGED`, and with the store's errors.
   */
  denyList(address?: string): Promise<readonly DeniedNetwork[]>;

  /**
   * Writes to the log what was done to a breaker; it does not act on the breaker. Resolves with the server's time. Rejects with the same errors as `reset`.
   */
  logBreaker(done: BreakerAction, options?: Omit<ActionOptions, "dryRun">): Promise<Date>;

  /** Returns the control record: what all processes must know, without overrides that have ended. Rejects with `HEADGATE_CONTROL_DAMAGED`, and with the store's errors. */
  readControl(): Promise<ControlRecord>;

  /** Returns the log: at most 1,000 actions of the last 90 days, the last one first. Rejects with the store's errors. */
  log(): Promise<ActionLog>;
}

/** A limiter to act on. */
export interface OperatedLimiter {
  readonly name: string;
  /** Its policy as it was written, which tells where the counters are. Numbers of units do not matter. */
  readonly limits: Policy;
  /**
   * Policies of other shapes that calls bring, as the directory lists them: the subject's counters under these are looked at and acted
   * on, too. `peek` leaves them out. Default: none.
   */
  readonly others?: readonly Policy[] | undefined;
  /** The limiter's own `blockOn`; `"settle"` also behind an adapter with `count`. Default `"denial"`. */
  readonly blockOn?: BlockOn | undefined;
  /** Whether the application put it in shadow. Default false. */
  readonly shadow?: boolean | undefined;
}

/** Why an action is done, by whom, and whether it is. */
export interface ActionOptions {
  /**
   * Whether to return what the action would change, and change nothing. Then `after` is made by the code that would make the change, and
   * `inForceAt` is from when the action would hold if it were done now. Default false.
   */
  readonly dryRun?: boolean | undefined;
  /** Why, for the log: at most 1,000 characters. */
  readonly reason?: string | undefined;
  /** Who, for the log: at most 256 characters. Default: the system's name of the user of this process. */
  readonly by?: string | undefined;
}

/** Options of the actions on a subject. */
export interface SubjectActionOptions extends ActionOptions {
  /** Whether dimensions that the limiter does not count are left out. If none is left, nothing is done or logged. Default false: they are an error. */
  readonly partial?: boolean | undefined;
}

/** Options of `setOverride` and `addToDenyList`. */
export interface OverrideOptions extends ActionOptions {
  /** How long it lasts, by the server's clock: 1 ms to 366 days, or `"forever"`. Default 24 hours. */
  readonly for?: Duration | "forever" | undefined;
}

/** The limiter, and perhaps the subject, of an override. */
export type OverridePlace = Pick<Override, "limiter" | "subject">;

/** An override to set: `limits`, `shadow`, or both. */
export type NewOverride = Omit<Override, "from" | "until">;

/** What a subject has used. */
export interface Inspection {
  /** Every limit of the dimensions that were named, and those limits of `others` of which the subject has used something. */
  readonly limits: readonly LimitState[];
  /** Whether the subject is blocked, by hand or by a limit. */
  readonly blocked: boolean;
  /** Its blocks, at most one for each dimension and limit. */
  readonly blocks: readonly SubjectBlock[];
}

/** A block of a subject. */
export interface SubjectBlock {
  /** The dimension. */
  readonly per: string;
  /** The name of the limit that has set it; missing if it was set by hand. */
  readonly limit?: string | undefined;
  /** Milliseconds until it ends, rounded up. */
  readonly endsInMs: number;
}

/** What `forget` erased. */
export interface Forgotten extends Action<Inspection> {
  /** The overrides for the subject, of any limiter, that were removed. */
  readonly overrides: readonly Override[];
  /** How many entries of the log had its name. */
  readonly logged: number;
  /** How many lists of usage, each of ten minutes, had it. */
  readonly listed: number;
}

/** What was done to a breaker. */
export interface BreakerAction {
  readonly breaker: string;
  readonly target: string;
  /** Its state before and after: plain data. */
  readonly before: unknown;
  readonly after: unknown;
}

/** The result of an action. */
export interface Action<State> {
  readonly before: State;
  readonly after: State;
  /** From this time of the server's clock on, every process follows the action, and nothing that was remembered before decides. */
  readonly inForceAt: Date;
}
