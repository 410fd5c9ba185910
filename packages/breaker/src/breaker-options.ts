import type { Duration, Store } from "@headgate/core";
import type { CheckedDuration, StoreTimeouts } from "@headgate/core/internal";
import type { BreakerPolicy } from "./machine/breaker-policy.ts";

/** Decides whether a call that has ended is a failure; `"ignore"` if its end does not depend on the target. */
export type IsFailure<Result> = (call: PromiseSettledResult<Result>) => boolean | "ignore";

/** Options of `createBreaker`. */
export interface BreakerOptions<Result = unknown> {
  /** The identity of the counts, across processes and deploys. Required with a `store`. */
  readonly name?: string | undefined;
  /** Where counts live. Default: the memory of this process. */
  readonly store?: Store | undefined;
  /** The longest wait for the store, in time that this process runs: 1 ms to 1 minute. Default 100 ms. */
  readonly storeTimeout?: Duration | undefined;
  /** The longest wait for the first reply of the store's client: 0, or 1 ms to 1 minute. Default 1 s. */
  readonly connectTimeout?: Duration | 0 | undefined;
  /** Which calls count: those of the last 1 ms to 1 day, or the last 1 to 10,000 `calls`. Default `"5m"`. */
  readonly window?: Duration | { readonly calls: number } | undefined;
  /** The breaker opens when the share of successes falls below this: 0 to 1. Default 0.5. */
  readonly minimumSuccessRate?: number | undefined;
  /** The breaker does not open before the window holds this many calls: at least 1. Default 20, or the window's calls if that is less. */
  readonly minimumCalls?: number | undefined;
  /** A call that takes longer is slow. Default: no call is slow. */
  readonly slowCall?: Duration | undefined;
  /** The breaker opens when the share of slow calls reaches this: above 0, up to 1. Default 1. */
  readonly slowCallRate?: number | undefined;
  /** How long the breaker stays open, or a function of how often it opened in a row, which is called with 1 to 20. Default 30 s. */
  readonly openFor?: Duration | ((opened: number) => Duration) | undefined;
  /** How many trial calls the whole fleet makes while half-open: 1 to 100. Default 5. */
  readonly trialCalls?: number | undefined;
  /** A trial call that takes longer is a failure; if its process has crashed, other processes count it a second later. Default 30 s. */
  readonly trialCallTimeout?: Duration | undefined;
  /** After closing, the share of allowed calls grows from one in ten to all of them in this time. Default: all are allowed at once. */
  readonly rampUp?: Duration | undefined;
  /** How long outcomes are collected before they are sent: up to 1 minute; 0 sends each by itself. Default 250 ms. */
  readonly flushInterval?: Duration | 0 | undefined;
  /**
   * Whether a call that returned or threw is a failure of the target, or must be ignored, such as an invalid request.
   * Default: a call that threw is a failure. If this function throws, the caller gets its error, and the call is a failure.
   */
  readonly isFailure?: IsFailure<Result> | undefined;
  /** How a cancelled call counts. Default `"ignore"`. */
  readonly abortOutcome?: "ignore" | "success" | "failure" | undefined;
  /** How many targets this process remembers: 1 to 100,000. Default 1,000. */
  readonly maxTargets?: number | undefined;
}

/** The durations of these options, in which the compiler finds a misspelt literal. `Text` is inferred. */
export interface CheckedDurations<Text extends string> {
  readonly storeTimeout?: CheckedDuration<Text> | undefined;
  readonly connectTimeout?: CheckedDuration<Text> | undefined;
  readonly window?: CheckedDuration<Text> | { readonly calls: number } | undefined;
  readonly slowCall?: CheckedDuration<Text> | undefined;
  readonly openFor?: CheckedDuration<Text> | ((opened: number) => Duration) | undefined;
  readonly trialCallTimeout?: CheckedDuration<Text> | undefined;
  readonly rampUp?: CheckedDuration<Text> | undefined;
  readonly flushInterval?: CheckedDuration<Text> | undefined;
}

/** The options with their defaults. Times are microseconds unless their names say otherwise. */
export interface Settings<Result> {
  readonly policy: BreakerPolicy;
  readonly storeTimes: StoreTimeouts;
  readonly slowCallMs: number;
  readonly trialCallTimeoutMs: number;
  readonly flushIntervalMicros: number;
  readonly isFailure: IsFailure<Result> | undefined;
  readonly abortOutcome: NonNullable<BreakerOptions["abortOutcome"]>;
  readonly maxTargets: number;
  /** Equal if and only if two breakers have the same policy. */
  readonly canonical: string;
  /** The written options as text, for messages. */
  readonly displayText: string;
  /** The written options of the policy; for a function `openFor`, its return values. */
  readonly policyOptions: Readonly<Record<string, unknown>>;
}
