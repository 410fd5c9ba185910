import { formatReceived, invalidOption, invalidValue } from "../../common/errors.ts";
import type { Duration } from "../../common/time.ts";
import { parseDuration } from "../../common/time.ts";
import type { CompiledPolicy } from "../../policy/compiled-policy.ts";

/** How a process leases units for a busy subject, and spends them by itself. */
export interface LeaseOptions {
  /** The maximum number of units leased for one subject: 2 to 1,000,000. */
  readonly max: number;
  /** How long a lease lasts at most: 1 ms to 1 minute. Unspent units are then refunded. */
  readonly ttl: Duration;
}

/** The `lease` option, parsed. Times are in microseconds. */
export interface LeaseSettings {
  /** The maximum number of unspent and pending units of one subject. */
  readonly max: number;
  readonly ttl: number;
  /** A lease takes at most 1/divisor of the units that remained in the store's last report. */
  readonly divisor: number;
}

const MAX_UNITS = 1_000_000;
/** Microseconds. */
const MAX_TTL = 60_000_000;

/**
 * A lease takes at most 1/SHARE_DIVISOR of the remaining units, so that several processes together leave some for other
 * requests, and nothing is leased close to the limit.
 */
const SHARE_DIVISOR = 8;

/** Parses the `lease` option; undefined if it is off. Throws `HEADGATE_INVALID_OPTION`. */
export function readLeaseOption(
  lease: LeaseOptions | false | undefined = false,
): LeaseSettings | undefined {
  if (lease === false) return undefined;
  if (typeof lease !== "object" || lease === null || Array.isArray(lease)) {
    throw invalidValue('lease must be false or like { max: 100, ttl: "1s" }', lease);
  }
  const { max, ttl, ...others } = lease;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw invalidValue("lease must hold max and ttl only", unknown);
  if (!Number.isSafeInteger(max) || max < 2 || max > MAX_UNITS) {
    throw invalidValue("lease.max must be a whole number from 2 to 1000000", max);
  }
  const ttlMicros = parseDuration(ttl, "lease.ttl", "HEADGATE_INVALID_OPTION");
  if (ttlMicros > MAX_TTL) throw invalidValue("lease.ttl must be from 1 ms to 1 minute", ttl);
  return { max, ttl: ttlMicros, divisor: SHARE_DIVISOR };
}

/** Throws `HEADGATE_INVALID_OPTION` for limits whose units cannot be leased. */
export function requireLeasable({ limits, groups, hasSlots }: CompiledPolicy): void {
  // A slot belongs to a single request.
  if (hasSlots) {
    throw invalidOption(
      "lease cannot be used with a concurrency limit, which has no units to take ahead: leave one of them out",
    );
  }
  // Units leased for one subject do not show whether another subject of the same request is allowed.
  if (groups.length > 1) {
    throw invalidOption(
      `lease needs limits of one dimension in a limiter that does not extend another one; these count by ${groups.map(({ dimension }) => dimension).join(", ")}`,
    );
  }
  // A blocked subject could continue to spend leased units.
  const blocking = limits.find(({ block }) => block !== undefined);
  if (blocking !== undefined) {
    throw invalidOption(
      `lease cannot be used with block, which would come too late for units taken ahead; the limit ${formatReceived(blocking.name)} has block`,
    );
  }
  // Leased units are charged before they are used.
  const notifying = limits.find(({ notify }) => notify !== undefined);
  if (notifying !== undefined) {
    throw invalidOption(
      `lease cannot be used with notifyAt, which would count units taken ahead as used; the limit ${formatReceived(notifying.name)} has notifyAt`,
    );
  }
}
