import { invalidValue } from "../../common/errors.ts";
import { parseDuration } from "../../common/time.ts";
import type { LeaseOptions, LeaseSettings } from "./leases.ts";

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
