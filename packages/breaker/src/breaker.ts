import type { Duration } from "@headgate/core";
import type { HeadgateBreakerOpen } from "./breaker-open.ts";
import type { BreakerState } from "./machine/period.ts";
import type { Outcome, Snapshot } from "./snapshot.ts";

/** Whether a call may be made, for callers who make it themselves. */
export interface Permit {
  readonly allowed: boolean;
  readonly state: BreakerState;
  /** When to ask again: milliseconds, rounded up; 0 where the call is allowed, Infinity where it was opened by hand. */
  readonly retryAfterMs: number;
  /** True when the store could not answer, and this process decided by itself. */
  readonly degraded: boolean;
  /**
   * Reports how the call ended, and how many milliseconds it took; the first time counts. Resolves when it is noted here;
   * for a trial call, and where each outcome is sent, when the store has it. Rejects with `HEADGATE_INVALID_OPTION`.
   */
  record(outcome: Outcome, durationMs?: number): Promise<void>;
  /** For a call that was not made, or that says nothing of the target: a trial call's place is free again. */
  release(): Promise<void>;
}

/** What a call gets. */
export interface CallContext {
  /** Aborts when the caller's does, and at the timeout. */
  readonly signal: AbortSignal;
}

/** Why a fallback is asked. */
export type Refusal<Result> =
  /** The call was not let through. */
  | {
      readonly because: "open";
      readonly error: HeadgateBreakerOpen;
      /** As in the error, which costs something to make. */
      readonly retryAfterMs: number;
    }
  /** It threw what is a failure. */
  | { readonly because: "error"; readonly error: unknown }
  /** It took longer than its timeout. */
  | { readonly because: "timeout"; readonly error: Error }
  /** It returned what is a failure. */
  | { readonly because: "result"; readonly result: Result };

export interface RunOptions<Result> {
  /** Answers in place of a call that was not let through, or was a failure. What it throws goes to the caller. */
  readonly fallback?: ((refusal: Refusal<Result>) => Result | Promise<Result>) | undefined;
  /**
   * Gives the call up: the promise rejects with the signal's reason, and the outcome is what `aborted` says. A signal of
   * `AbortSignal.timeout` is a timeout, and a failure.
   */
  readonly signal?: AbortSignal | undefined;
  /** A call that takes longer is a failure, given up with `HEADGATE_BREAKER_TIMEOUT`: 1 ms to 1 day. Default: none. */
  readonly timeout?: Duration | undefined;
}

/** One target of a breaker. Each method rejects with `HEADGATE_CLOSED` once the breaker is closed. */
export interface Target<Result = unknown> {
  /** Its name, as in events and errors: at most 105 characters. */
  readonly target: string;

  /**
   * Makes a call, if it is let through, and counts how it ended. Waits for the store no longer than `storeTimeout`, and
   * mostly not at all. Rejects with `HEADGATE_BREAKER_OPEN`, `HEADGATE_BREAKER_TIMEOUT`, the signal's reason, what the call
   * throws, and `HEADGATE_INVALID_OPTION`.
   */
  run<T extends Result>(
    call: (context: CallContext) => T | Promise<T>,
    options?: RunOptions<T>,
  ): Promise<T>;

  /** Asks whether a call may be made. A denial is a value. */
  admit(): Promise<Permit>;

  /**
   * Counts a call that was made without asking, in the state that is now; while half-open only trial calls count. Resolves
   * and rejects as a permit's `record`.
   */
  record(outcome: Outcome, durationMs?: number): Promise<void>;

  /** How the target is doing, after all that this process has to report was reported. */
  snapshot(): Promise<Snapshot>;

  /**
   * Lets no call through, in the whole fleet, until `reset`, or until nobody has asked for it in a week. Rejects as the store
   * does, as with `HEADGATE_STORE_UNAVAILABLE`: it is so in this process alone then, until the store answers.
   */
  forceOpen(): Promise<void>;

  /** Lets every call through and counts none; as long, and rejects, as `forceOpen`. */
  disable(): Promise<void>;

  /** Lets every call through and counts them; as long, and rejects, as `forceOpen`. */
  metricsOnly(): Promise<void>;

  /** Closes it and forgets all calls, in the whole fleet. Rejects as `forceOpen`. */
  reset(): Promise<void>;
}

/** The breakers of many targets, under one name and one policy. By itself it is the target `"default"`. */
export interface Breaker<Result = unknown> extends Target<Result> {
  readonly name: string;
  /**
   * A target: at least 1 character. Longer than 100, it is shortened to its first 60 and a hash in `target`, in events and in
   * errors. Throws `HEADGATE_EMPTY_KEY`, `HEADGATE_INVALID_KEY`.
   */
  for(target: string): Target<Result>;
  /** Sends what was collected, and frees the name. The store's client stays open. */
  close(): Promise<void>;
}
