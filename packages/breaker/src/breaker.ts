import type { Duration } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import type { Outcome, RejectedCall, Snapshot } from "./channels.ts";
import type { BreakerState } from "./machine/period.ts";

/** The decision on a call that the caller makes itself. */
export interface Permit {
  readonly allowed: boolean;
  readonly state: BreakerState;
  /** Milliseconds until a retry may be allowed, rounded up; 0 if the call is allowed, Infinity after `forceOpen`. */
  readonly retryAfterMs: number;
  /** True if the store did not reply, so that this process decided by itself. */
  readonly degraded: boolean;
  /**
   * Reports how the call ended, and how many milliseconds it took; only the first report counts. Resolves when this process has recorded it;
   * for a trial call, or with a `flushInterval` of 0, when the store has. Rejects with `HEADGATE_INVALID_OPTION`.
   */
  record(outcome: Outcome, durationMs?: number): Promise<void>;
  /** Frees the slot of a trial call without an outcome: for a call that was not made, or whose end does not depend on the target. */
  release(): Promise<void>;
}

/** The argument of a call that `run` makes. */
export interface CallContext {
  /** Aborts when the caller's signal does, and at the timeout. */
  readonly signal: AbortSignal;
}

/** Why a fallback was called. */
export type FallbackContext<Result> =
  /** The breaker rejected the call. */
  | {
      readonly reason: "open";
      readonly error: HeadgateBreakerOpenError;
      /** The same as in `error`, which is created when it is read. */
      readonly retryAfterMs: number;
    }
  /** The call threw, and that is a failure. */
  | { readonly reason: "error"; readonly error: unknown }
  /** The call took longer than its timeout. */
  | { readonly reason: "timeout"; readonly error: Error }
  /** The call returned a value that is a failure. */
  | { readonly reason: "result"; readonly result: Result };

/** Options of `run`. */
export interface RunOptions<Result> {
  /** Returns the result in place of a call that was rejected or failed. Its errors go to the caller. */
  readonly fallback?: ((context: FallbackContext<Result>) => Result | Promise<Result>) | undefined;
  /**
   * Cancels the call: the promise rejects with the signal's reason, and the option `abortOutcome` decides how the call
   * counts. A signal of `AbortSignal.timeout` counts as a timeout, so as a failure.
   */
  readonly signal?: AbortSignal | undefined;
  /** The longest that the call may take: 1 ms to 1 day. A longer call is a failure, and rejects with `HEADGATE_BREAKER_TIMEOUT`. Default: none. */
  readonly timeout?: Duration | undefined;
}

/** One target of a breaker. Each method rejects with `HEADGATE_CLOSED` once the breaker is closed. */
export interface Target<Result = unknown> {
  /** The target's name, as in events and errors: at most 105 characters. */
  readonly target: string;

  /**
   * Makes a call if the breaker allows it, and records its outcome. Waits for the store at most `storeTimeout`, and
   * usually not at all. Rejects with `HEADGATE_BREAKER_OPEN`, `HEADGATE_BREAKER_TIMEOUT`, the signal's reason, the call's
   * error, and `HEADGATE_INVALID_OPTION`.
   */
  run<T extends Result>(
    call: (context: CallContext) => T | Promise<T>,
    options?: RunOptions<T>,
  ): Promise<T>;

  /** Decides whether a call may be made. A rejection is returned, not thrown. */
  admit(): Promise<Permit>;

  /**
   * Records the outcome of a call that was made without a permit; while half-open, only trial calls count. Resolves
   * and rejects like a permit's `record`.
   */
  record(outcome: Outcome, durationMs?: number): Promise<void>;

  /** Returns the state of the target, after this process has reported all its outcomes. */
  snapshot(): Promise<Snapshot>;

  /**
   * Opens the breaker in the whole fleet: it rejects all calls until `reset`, or until a week has passed without a call. Rejects with
   * the store's errors, such as `HEADGATE_STORE_UNAVAILABLE`: then the state is set in this process alone, until the store replies.
   */
  forceOpen(): Promise<void>;

  /** Allows all calls and records none. Lasts as long, and rejects with the same errors, as `forceOpen`. */
  disable(): Promise<void>;

  /** Allows all calls and records them. Lasts as long, and rejects with the same errors, as `forceOpen`. */
  metricsOnly(): Promise<void>;

  /** Closes the breaker and forgets all calls, in the whole fleet. Rejects with the same errors as `forceOpen`. */
  reset(): Promise<void>;
}

/** The breakers of many targets, under one name and one policy. The breaker itself is the target `"default"`. */
export interface Breaker<Result = unknown> extends Target<Result> {
  readonly name: string;
  /**
   * Returns the breaker of a target, whose name has at least 1 character. A name of more than 100 is shortened to its first 60 and a hash in `target`, in events and in
   * errors. Throws `HEADGATE_EMPTY_KEY`, `HEADGATE_INVALID_KEY`.
   */
  for(target: string): Target<Result>;
  /** Sends the outcomes that were collected, and frees the name. The store's client stays open. */
  close(): Promise<void>;
}

const NOT_LET_THROUGH = "the breaker does not let this call through: it is";

const MESSAGES: Readonly<Record<BreakerState, string>> = {
  closed: `${NOT_LET_THROUGH} closed again, and lets only a growing part of the calls through`,
  open: `${NOT_LET_THROUGH} open`,
  "half-open": `${NOT_LET_THROUGH} half-open, and waits for its trial calls`,
  "forced-open": `${NOT_LET_THROUGH} forced open`,
  disabled: `${NOT_LET_THROUGH} disabled`,
  "metrics-only": `${NOT_LET_THROUGH} metrics only`,
};

/** The breaker rejected a call. Recognise it by its `code`, `HEADGATE_BREAKER_OPEN`. */
export class HeadgateBreakerOpenError extends HeadgateError {
  override readonly name = "HeadgateBreakerOpenError";
  /** The breaker's name. */
  readonly breaker: string;
  readonly target: string;
  readonly state: BreakerState;
  /** Milliseconds until a retry may be allowed, rounded up; Infinity after `forceOpen`. */
  readonly retryAfterMs: number;
  readonly degraded: boolean;

  constructor(rejected: RejectedCall) {
    super("HEADGATE_BREAKER_OPEN", MESSAGES[rejected.state]);
    this.breaker = rejected.breaker;
    this.target = rejected.target;
    this.state = rejected.state;
    this.retryAfterMs = rejected.retryAfterMs;
    this.degraded = rejected.degraded;
  }
}
