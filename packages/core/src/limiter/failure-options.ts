import { shareInProcess } from "../common/client-state.ts";
import { invalidValue } from "../common/errors.ts";
import { readBoolean } from "../common/options.ts";
import type { CheckedDuration, Duration } from "../common/time.ts";
import { parseDuration, toMilliseconds } from "../common/time.ts";
import type { StoreTimeouts } from "../health/store-monitor.ts";
import type { FallbackOptions, OnUnavailable } from "../pipeline/fallback-stage.ts";
import type { LeaseOptions, LeaseSettings } from "../pipeline/leases/lease-options.ts";
import { readLeaseOption } from "../pipeline/leases/lease-options.ts";

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

/** The names of these options. */
export const FAILURE_OPTIONS = [
  "storeTimeout",
  "connectTimeout",
  "onUnavailable",
  "localShare",
  "denyCache",
  "lease",
] as const;

/** The options with their defaults. */
export interface FailurePolicy extends StoreTimeouts, FallbackOptions {
  readonly denyCache: boolean;
  readonly lease: LeaseSettings | undefined;
}

/** The default of `storeTimeout` in milliseconds. Shared by all copies of this package, so that a test can change it. */
export const defaultStoreTimeout: () => { byDefault: number } = shareInProcess(
  "storeTimes",
  () => ({
    byDefault: 100,
  }),
);

const DEFAULT_CONNECT_MS = 1_000;

/** Timeouts must be from 1 ms to 1 minute. In microseconds. */
const MIN_TIMEOUT_MICROS = 1_000;

const MAX_TIMEOUT_MICROS = 60_000_000;

/** Reads the options. Throws `HEADGATE_INVALID_OPTION`. */
export function readFailureOptions(options: FailureOptions): FailurePolicy {
  const { storeTimeout = defaultStoreTimeout().byDefault, connectTimeout = DEFAULT_CONNECT_MS } =
    options;
  const { onUnavailable = "local", localShare = 1, denyCache = true } = options;
  const timeoutMs = readTimeout(storeTimeout, "storeTimeout", "from 1 ms to 1 minute");
  const connectMs =
    (connectTimeout as unknown) === 0
      ? 0
      : readTimeout(connectTimeout, "connectTimeout", "0, or from 1 ms to 1 minute");
  requireThat(
    ["local", "allow", "deny"].includes(onUnavailable),
    'onUnavailable must be "local", "allow" or "deny"',
    onUnavailable,
  );
  requireThat(
    typeof localShare === "number" && localShare > 0 && localShare <= 1,
    "localShare must be above 0, up to 1",
    localShare,
  );
  readBoolean("denyCache", denyCache);
  const lease = readLeaseOption(options.lease);
  return { timeoutMs, connectMs, onUnavailable, localShare, denyCache, lease };
}

/** Reads a timeout, in milliseconds. Throws `HEADGATE_INVALID_OPTION`. */
function readTimeout(value: Duration, option: string, range: string): number {
  const time = parseDuration(value, option, "HEADGATE_INVALID_OPTION");
  requireThat(
    time >= MIN_TIMEOUT_MICROS && time <= MAX_TIMEOUT_MICROS,
    `${option} must be ${range}`,
    value,
  );
  return toMilliseconds(time);
}

function requireThat(isValid: boolean, rule: string, received: unknown): void {
  if (!isValid) throw invalidValue(rule, received);
}
