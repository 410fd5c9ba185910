import type { Decision, LimitState } from "../common/decision.ts";
import type { BlockOn, Policy } from "../common/policy.ts";
import type { Duration } from "../common/time.ts";
import type { ActionLog } from "../control/log-entry.ts";
import type { ControlRecord, DeniedNetwork, Override } from "../control/record.ts";
import type { CostOptions } from "../limiter/limiter.ts";
import type { Subjects } from "../policy/counters.ts";

/** The actions of an operator on the limiters of a prefix, from any process. */
export interface Admin {
  /** Returns the usage of a subject in each limit, in each named dimension. Rejects with the same errors as `reset`. */
  inspect(limiter: LimiterDefinition, subject: Subjects): Promise<Inspection>;

  /**
   * Returns the answer that a request would get now under the overrides in force, without charging. Considers the named
   * dimensions only: limits that count by others are left out. For a moment, a process may answer differently because of a
   * cached denial or leased units. Rejects with the same errors as `reset`, and with `HEADGATE_INVALID_COST`.
   */
  peek(limiter: LimiterDefinition, subject: Subjects, options?: CostOptions): Promise<Decision>;

  /**
   * Like `limiter.reset`, but for all processes. Rejects with `HEADGATE_INVALID_OPTION`, `HEADGATE_INVALID_LIMIT`,
   * `HEADGATE_EMPTY_KEY`, `HEADGATE_INVALID_KEY`, and with the store's errors. After `HEADGATE_STORE_UNAVAILABLE`, some of it
   * may have been done; the action can be repeated. After `HEADGATE_CONTROL_CORRUPT` nothing was done.
   */
  reset(
    limiter: LimiterDefinition,
    subject: Subjects,
    options?: SubjectActionOptions,
  ): Promise<ActionResult<Inspection>>;

  /** Like `limiter.block`, but for all processes. Rejects with the same errors as `reset`. */
  block(
    limiter: LimiterDefinition,
    subject: Subjects,
    duration: Duration,
    options?: SubjectActionOptions,
  ): Promise<ActionResult<Inspection>>;

  /** Like `limiter.unblock`, but for all processes. Rejects with the same errors as `reset`. */
  unblock(
    limiter: LimiterDefinition,
    subject: Subjects,
    options?: SubjectActionOptions,
  ): Promise<ActionResult<Inspection>>;

  /**
   * Erases a subject: its usage in this limiter and its blocks, including those set by hand. In the whole prefix it also removes
   * the overrides for the subject, and its name from the log. Slots that running work holds stay, and so does what processes
   * report of the subject during the call or later: repeat it ten seconds later. The log records that a subject was forgotten.
   * Rejects with the same errors as `reset`.
   */
  forget(
    limiter: LimiterDefinition,
    subject: Subjects,
    options?: ActionOptions,
  ): Promise<ForgetResult>;

  /**
   * Overrides the numbers of a limiter or of one of its subjects, or puts it in shadow mode. Replaces an earlier override for
   * the same limiter or subject. Rejects with `HEADGATE_INVALID_OPTION`, also if there are 1,000 already, and with the same
   * errors as `reset`.
   */
  setOverride(
    override: NewOverride,
    options?: ExpiringActionOptions,
  ): Promise<ActionResult<Override | undefined>>;

  /** Removes the override of a limiter, or of one of its subjects, if there is one. Rejects with the same errors as `reset`. */
  unsetOverride(
    of: OverrideKey,
    options?: ActionOptions,
  ): Promise<ActionResult<Override | undefined>>;

  /**
   * Denies an address, or a network such as `203.0.113.0/24`, in all HTTP limiters of the prefix: their requests get status
   * 403, as with `denyList`. Replaces the entry for the same network. Rejects with `HEADGATE_INVALID_OPTION`, also for a
   * network wider than /8 of IPv4 or /16 of IPv6 and if there are 1,000 entries already, and with the same errors as `reset`.
   */
  addToDenyList(
    network: string,
    options?: ExpiringActionOptions,
  ): Promise<ActionResult<DeniedNetwork | undefined>>;

  /**
   * Removes the entry of exactly this address or network from the deny list, if there is one. Rejects with the same errors as
   * `reset`.
   */
  removeFromDenyList(
    network: string,
    options?: ActionOptions,
  ): Promise<ActionResult<DeniedNetwork | undefined>>;

  /**
   * Returns the entries of the deny list that have not ended; with an address, only those that contain it. Times are
   * microseconds since the epoch, by the server's clock. Rejects with `HEADGATE_INVALID_OPTION`, `HEADGATE_CONTROL_CORRUPT`,
   * and with the store's errors.
   */
  denyList(address?: string): Promise<readonly DeniedNetwork[]>;

  /**
   * Writes an entry about a breaker to the log; does not act on the breaker. Call it before giving the order: one that the log
   * refuses, or during whose entry the store goes away, would be in force without an entry. With `dryRun` it writes nothing.
   * Resolves with the server's time. Rejects with the same errors as `reset`.
   */
  logBreakerAction(action: BreakerAction, options?: ActionOptions): Promise<Date>;

  /**
   * Returns the control record, which every process follows, without overrides and denied networks that have ended. Rejects with
   * `HEADGATE_CONTROL_CORRUPT`, and with the store's errors.
   */
  readControl(): Promise<ControlRecord>;

  /** Returns the log: at most 1,000 actions of the last 90 days, newest first. Rejects with the store's errors. */
  log(): Promise<ActionLog>;
}

/** A limiter to act on. */
export interface LimiterDefinition {
  readonly name: string;
  /** Its policy as configured, which determines where the counters are. Unit counts do not matter. */
  readonly limits: Policy;
  /**
   * Policies of other shapes that calls pass, as listed in the registry: the subject's counters under these are included in
   * reads and actions. `peek` leaves them out. Default: none.
   */
  readonly perCallPolicies?: readonly Policy[] | undefined;
  /** The limiter's own `blockOn`; `"settle"` also behind an adapter with `count`. Default `"denial"`. */
  readonly blockOn?: BlockOn | undefined;
  /** Whether the application configured it with `shadow`. Default false. */
  readonly shadow?: boolean | undefined;
}

/** The operator and the reason of an action, and whether it is a dry run. */
export interface ActionOptions {
  /**
   * Whether to only return what the action would change. `after` is then computed by the same code that would make the change,
   * and `effectiveAt` is when the action would take effect if it were done now. Default false.
   */
  readonly dryRun?: boolean | undefined;
  /** The reason, for the log: at most 1,000 characters. */
  readonly reason?: string | undefined;
  /** The operator's name, for the log: at most 256 characters. Default: the system's name for the user of this process. */
  readonly by?: string | undefined;
}

/** Options of the actions on a subject. */
export interface SubjectActionOptions extends ActionOptions {
  /**
   * Whether to ignore dimensions that the limiter does not count by. If none is left, nothing is done or logged. Default false:
   * they are an error.
   */
  readonly ignoreUnknownDimensions?: boolean | undefined;
}

/** Options of `setOverride` and `addToDenyList`. */
export interface ExpiringActionOptions extends ActionOptions {
  /** How long it lasts, by the server's clock: 1 ms to 366 days, or `"forever"`. Default 24 hours. */
  readonly for?: Duration | "forever" | undefined;
}

/** The limiter, and optionally the subject, of an override. */
export type OverrideKey = Pick<Override, "limiter" | "subject">;

/** An override to set: `limits`, `shadow`, or both. */
export type NewOverride = Omit<Override, "from" | "until">;

/** The usage of a subject. */
export interface Inspection {
  /** Every limit of the named dimensions, and those limits of `perCallPolicies` that the subject has used. */
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
  /** The name of the limit that set it; missing if it was set by hand. */
  readonly limit?: string | undefined;
  /** Milliseconds until it ends, rounded up. */
  readonly endsInMs: number;
}

/** The result of `forget`. */
export interface ForgetResult extends ActionResult<Inspection> {
  /** The removed overrides for the subject, of any limiter. */
  readonly overrides: readonly Override[];
  /** How many entries of the log named it. */
  readonly redactedLogEntries: number;
  /** How many lists named it: those of usage, each of ten minutes, and the list of blocks. */
  readonly clearedLists: number;
}

/** An action on a breaker. */
export interface BreakerAction {
  readonly breaker: string;
  readonly target: string;
  /** Its state before and after: plain data. */
  readonly before: unknown;
  readonly after: unknown;
}

/** The result of an action. */
export interface ActionResult<State> {
  readonly before: State;
  readonly after: State;
  /** From this time of the server's clock on, every process follows the action, and uses nothing cached before it. */
  readonly effectiveAt: Date;
}
