import type { ControlRecord, Override } from "../control/record.ts";
import type { LimitState } from "../decision.ts";
import type { Subjects } from "../limiter/counters.ts";
import type { BlockOn, Policy } from "../policy.ts";
import type { Duration } from "../time.ts";

/** What an operator can do to the limiters of a prefix, from any process. */
export interface Operator {
  /** What a subject has used of each limit, in each dimension that is named. Rejects as `reset`. */
  inspect(limiter: OperatedLimiter, subject: Subjects): Promise<Inspection>;

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
   * Puts other numbers in force for a limiter, or for one of its subjects, or puts it in shadow; in place of what was set for the
   * same before. Rejects with `HEADGATE_INVALID_OPTION`, also where there are 1,000 already, and as `reset`.
   */
  setOverride(
    override: NewOverride,
    options?: OverrideOptions,
  ): Promise<Action<Override | undefined>>;

  /** Takes an override away, if there is one for the limiter, or for the subject. Rejects as `reset`. */
  unsetOverride(of: OverridePlace, options?: ActionOptions): Promise<Action<Override | undefined>>;

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
  readonly kind: "reset" | "block" | "unblock" | "setOverride" | "unsetOverride";
  readonly limiter: string;
  /** By dimension. Missing: all subjects. */
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
