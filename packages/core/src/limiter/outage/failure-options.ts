import { formatReceived, HeadgateError } from "../../errors.ts";
import type { Duration } from "../../time.ts";
import { parseDuration, toMilliseconds } from "../../time.ts";
import type { LeaseRule } from "../leases/lease-book.ts";
import type { LeaseOptions } from "../leases/lease-options.ts";
import { readLeaseOption } from "../leases/lease-options.ts";

/** How a limiter spares its store, and what it does when that cannot answer. Over `memoryStore`, which always answers, it means nothing. */
export interface FailureOptions {
  /** The longest wait for the store, for each decision: 1 ms to 1 minute. Default 100 ms. */
  readonly storeTimeout?: Duration | undefined;
  /**
   * Who decides when the store cannot: the same limits counted in this process (`"local"`, default), nobody, so that every
   * request is admitted (`"allow"`), or nobody, so that every request is denied (`"deny"`; in HTTP status 503).
   */
  readonly onUnavailable?: OnUnavailable | undefined;
  /**
   * For `"local"`: the share of each limit that this process admits by itself, above 0, up to 1; rounded down, at least one
   * unit. Default 1; with n processes, 1 / n keeps the limit that all of them share.
   */
  readonly localShare?: number | undefined;
  /** Whether denials are remembered for up to a second, so that those who keep asking cost no call. Default true. */
  readonly denyCache?: boolean | undefined;
  /**
   * Lets a process take several units of a subject that is asked for often at once, up to `max` for up to `ttl`, and spend
   * them without a call. For limits of one dimension, in a limiter that extends no other. Default: off. See `docs/leases.md`.
   */
  readonly lease?: LeaseOptions | false | undefined;
}

export type OnUnavailable = "local" | "allow" | "deny";

/** The options' names. */
export const FAILURE_OPTIONS = [
  "storeTimeout",
  "onUnavailable",
  "localShare",
  "denyCache",
  "lease",
] as const;

/** These options out of more. */
export function failureOptionsOf(options: FailureOptions): FailureOptions {
  const { storeTimeout, onUnavailable, localShare, denyCache, lease } = options;
  return { storeTimeout, onUnavailable, localShare, denyCache, lease };
}

/** The options with their defaults. */
export interface FailurePolicy {
  readonly timeoutMs: number;
  readonly onUnavailable: OnUnavailable;
  readonly localShare: number;
  readonly denyCache: boolean;
  readonly lease: LeaseRule | undefined;
}

/** `setTimeout` counts in milliseconds. */
const SHORTEST = 1_000;
const LONGEST = 60_000_000;

/** Reads the options. Throws `HEADGATE_INVALID_OPTION`. */
export function readFailureOptions(options: FailureOptions): FailurePolicy {
  const { storeTimeout = 100, onUnavailable = "local", localShare = 1, denyCache = true } = options;
  const timeout = parseDuration(storeTimeout, "storeTimeout", "HEADGATE_INVALID_OPTION");
  requireThat(
    timeout >= SHORTEST && timeout <= LONGEST,
    "storeTimeout must be from 1 ms to 1 minute",
    storeTimeout,
  );
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
  requireThat(typeof denyCache === "boolean", "denyCache must be true or false", denyCache);
  const lease = readLeaseOption(options.lease);
  return { timeoutMs: toMilliseconds(timeout), onUnavailable, localShare, denyCache, lease };
}

function requireThat(holds: boolean, rule: string, received: unknown): void {
  if (holds) return;
  throw new HeadgateError("HEADGATE_INVALID_OPTION", `${rule}, got ${formatReceived(received)}`);
}
