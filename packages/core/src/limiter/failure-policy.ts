import type { CheckedDuration, Duration } from "../common/time.ts";
import type { StoreTimeouts } from "../health/store-health.ts";
import type { FallbackOptions, OnUnavailable } from "../pipeline/fallback-stage.ts";
import type { LeaseOptions, LeaseSettings } from "../pipeline/leases/leases.ts";

/**
 * Options for saving calls to the store, and for decisions while the store is unavailable. They have no effect with
 * `memoryStore`, which always answers.
 */
export interface FailureOptions {
  /**
   * The longest wait for the store, for each decision, not counting time in which this process does not run: 1 ms to 1 minute.
   * Default 100 ms.
   */
  readonly storeTimeout?: Duration | undefined;
  /**
   * The longest wait for the first answer of a client, which has to connect before it, counted from the client's first use: 1
   * ms to 1 minute, or 0 to wait no longer than `storeTimeout`. The client's own connection error ends it. Default 1 s.
   */
  readonly connectTimeout?: Duration | 0 | undefined;
  /**
   * How to decide when the store cannot answer: count the same limits in this process (`"local"`,
   * default), admit every request (`"allow"`), or deny every request (`"deny"`; in HTTP with status
   * 503).
   */
  readonly onUnavailable?: OnUnavailable | undefined;
  /**
   * With `"local"`, the share of each limit that this process admits by itself: above 0, up to 1; rounded down, at least one
   * unit. Default 1. With n processes, 1 / n preserves the limit that they share.
   */
  readonly localShare?: number | undefined;
  /** Whether to cache denials for up to a second, so that repeated requests of a denied subject cost no call. Default true. */
  readonly denyCache?: boolean | undefined;
  /**
   * Lets a process lease several units at once for a busy subject, up to `max` for up to `ttl`, and spend them without a call.
   * For limits of one dimension, in a limiter that extends no other. Default: off. See `docs/understand/leases.md`.
   */
  readonly lease?: LeaseOptions | false | undefined;
}

/**
 * The durations in these options as `createLimiter` accepts them: the compiler finds a misspelt literal. `Text` is inferred.
 */
export interface CheckedDurations<Text extends string> {
  readonly storeTimeout?: CheckedDuration<Text> | undefined;
  readonly connectTimeout?: CheckedDuration<Text> | undefined;
  readonly lease?: { readonly ttl: CheckedDuration<Text> } | false | undefined;
}

/** The options with their defaults. */
export interface FailurePolicy extends StoreTimeouts, FallbackOptions {
  readonly denyCache: boolean;
  readonly lease: LeaseSettings | undefined;
}
