import type { ControlRecord, Override } from "../control/record.ts";
import type { Decision, LimitState } from "../decision.ts";
import type { Subjects } from "../limiter/counters.ts";
import type { CostOptions } from "../limiter/limiter.ts";
import type { BlockOn, Policy } from "../policy.ts";
import type { Duration } from "../time.ts";

/** What an operator can do to the limiters of a prefix, from any process. */
export interface Operator {
  /** What a subject has used of each limit, in each dimension that is named. Rejects as `reset`. */
  inspect(limiter: OperatedLimiter, subject: Subjects): Promise<Inspection>;

  /**
   * The answer that a request would get now, nothing charged, under the overrides in force, in each dimension that is named: what a
   * limiter counts by the others is left out. In memory of the processes it may be another one for a moment: a denial that one
   * remembers, units that one has leased. Rejects as `reset`, and with `HEADGATE_INVALID_COST`.
   */
  peek(limiter: OperatedLimiter, subject: Subjects, options?: CostOptions): Promise<Decision>;

  /**
   * As `reset` of the limiter, and made known to all processes. Rejects with `HEADGATE_INVALID_OPTION`, `HEADGATE_INVALID_LIMIT`,
   * `HEADGATE_EMPTY_KEY`, `HEADGATE_INVALID_KEY`, and with what the store says: after `HEADGATE_STORE_UNAVAILABLE` it is not known
   * how much was done; it can be done again. With `HEADGATE_CONTROL_DAMAGED` nothing was done.
   */
  reset(
    limiter: OperatedLimiter,
    subject: Subjects,
    options?: ActionOptions,
  ): Promise<Action<Inspection>>;

  /** As `block` of the limiter, and made known to all processes. Rejects as `reset`. */
  block(
    limiter: OperatedLimiter,
    subject: Subjects,
    duration: Duration,
    options?: ActionOptions,
  ): Promise<Action<Inspection>>;

  /** As `unblock` of the limiter, and made known to all processes. Rejects as `reset`. */
  unblock(
    limiter: OperatedLimiter,
    subject: Subjects,
    options?: ActionOptions,
  ): Promise<Action<Inspection>>;

  /**
   * Forgets all that there is of a subject but the places that its work holds: what it has used in this limiter, and its blocks, also
   * those by hand; and of the whole prefix the overrides for it, and its name in the log. The log says that somebody was forgotten.
   * Rejects as `reset`.
   */
  forget(limiter: OperatedLimiter, subject: Subjects, options?: ActionOptions): Promise<Forgotten>;

  /**
   * Puts other numbers in force for a limiter, or for one of its subjects, or puts it in shadow; in place of what was set for the
   * same before. Rejects with `HEADGATE_INVALID_OPTION`, also where there are 1,000 already, and as `reset`.
   */
  setOverride(
    override: NewOverride,
    options?: OverrideOptions,
  ): Promise<Action<Override | undefined>>;

  /** Takes an override away, if there is one for the limiter, or for the subject. Rejects as `reset`. */
  unsetOverride(of: OverridePlace, options?: ActionOptions): Promise<Action<Override | undefined>>;

  /**
   * Writes down what was done to a breaker, and does nothing to it. Resolves with when, by the server's clock. Rejects as `reset`.
   */
  logBreaker(done: BreakerAction, options?: ActionOptions): Promise<Date>;

  /** What all processes must know. Rejects with `HEADGATE_CONTROL_DAMAGED`, and with what the store says. */
  readControl(): Promise<ControlRecord>;

  /** What was done: at most 1,000 actions of the last 90 days, the last one first. Rejects with what the store says. */
  log(): Promise<ActionLog>;
}

/** A limiter to act on. */
export interface OperatedLimiter {
  readonly name: string;
  /** Its policy as it is written: it says where the counters are. Numbers of units do not matter. */
  readonly limits: Policy;
  /** As the limiter's: `"settle"` where it blocks by what is kept, as behind an adapter with `count`. Default `"denial"`. */
  readonly blockOn?: BlockOn | undefined;
  /** Whether it is written in shadow. Default false. */
  readonly shadow?: boolean | undefined;
}

export interface ActionOptions {
  /** Why, for the log: at most 1,000 characters. */
  readonly reason?: string | undefined;
  /** Who, for the log: at most 256 characters. Default: the system's name of the user of this process. */
  readonly by?: string | undefined;
}

export interface OverrideOptions extends ActionOptions {
  /** For how long, by the server's clock. Default 24 hours. */
  readonly for?: Duration | "forever" | undefined;
}

/** Whose override it is. */
export type OverridePlace = Pick<Override, "limiter" | "subject">;

/** An override to be set: `limits`, `shadow`, or both. */
export type NewOverride = Omit<Override, "from" | "until">;

/** What a subject has used. */
export interface Inspection {
  /** Every limit of the dimensions that were named. */
  readonly limits: readonly LimitState[];
  /** Whether it is blocked: by hand, or by a limit. */
  readonly blocked: boolean;
  /** What blocks it, at most one for each dimension and limit. */
  readonly blocks: readonly SubjectBlock[];
}

/** What blocks a subject. */
export interface SubjectBlock {
  /** The dimension. */
  readonly per: string;
  /** The name of the limit that has set it; missing for one by hand. */
  readonly limit?: string | undefined;
  /** Milliseconds until it ends, rounded up. */
  readonly endsInMs: number;
}

/** What was forgotten. */
export interface Forgotten extends Action<Inspection> {
  /** The overrides for the subject, of whichever limiter, that were taken away. */
  readonly overrides: readonly Override[];
  /** In how many entries of the log its name was. */
  readonly logged: number;
  /** In how many lists of usage, each of ten minutes, it was. */
  readonly listed: number;
}

/** What was done to a breaker. */
export interface BreakerAction {
  readonly breaker: string;
  readonly target: string;
  /** How it was doing before and after: plain data. */
  readonly before: unknown;
  readonly after: unknown;
}

/** What came of an action. */
export interface Action<State> {
  readonly before: State;
  readonly after: State;
  /** By the server's clock: from then on every process goes by it, and nothing that was remembered before decides. */
  readonly inForceAt: Date;
}

export interface ActionLog {
  readonly entries: readonly LogEntry[];
  /** How many entries make no sense: another version, or somebody else, wrote them. */
  readonly unreadable: number;
}

/** One action, as the log keeps it. */
export interface LogEntry {
  /** When, by the server's clock. */
  readonly at: Date;
  readonly kind:
    | "reset"
    | "block"
    | "unblock"
    | "setOverride"
    | "unsetOverride"
    | "forget"
    | "breaker";
  /** Its name; of a breaker that one's. */
  readonly limiter: string;
  /**
   * By dimension; a breaker's as `target`. Missing: all subjects. One that was forgotten since is `~forgotten~` and 24 bits of its
   * SHA-256 as base64url.
   */
  readonly subject?: Readonly<Record<string, string>> | undefined;
  /** Who, as the system or the application names them. */
  readonly by?: string | undefined;
  /** Who, as the server names its users; missing where it may not be asked. */
  readonly aclUser?: string | undefined;
  readonly reason?: string | undefined;
  /** What was there before and after, as JSON has it: an inspection, or an override. */
  readonly before?: unknown;
  readonly after?: unknown;
}
