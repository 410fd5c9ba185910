import { shareInProcess } from "../common/client-state.ts";
import { invalidValue } from "../common/errors.ts";
import { readBoolean } from "../common/options.ts";
import type { Duration } from "../common/time.ts";
import { parseDuration, toMilliseconds } from "../common/time.ts";
import { readLeaseOption } from "../pipeline/leases/lease-options.ts";
import type { FailureOptions, FailurePolicy } from "./failure-policy.ts";

/** The names of these options. */
export const FAILURE_OPTIONS = [
  "storeTimeout",
  "connectTimeout",
  "onUnavailable",
  "localShare",
  "denyCache",
  "lease",
] as const;

/** The default of `storeTimeout` in milliseconds. Shared by all copies of this package, so that a test can change it. */
export const defaultStoreTimeout: () => { byDefault: number } = shareInProcess(
  "storeTimes",
  () => ({
    byDefault: 100,
  }),
);

/** The default of `connectTimeout`, in milliseconds. */
const DEFAULT_CONNECT_MS = 1_000;

/** Picks these options out of others. */
export function failureOptionsOf(options: FailureOptions): FailureOptions {
  const { storeTimeout, connectTimeout, onUnavailable, localShare, denyCache, lease } = options;
  return { storeTimeout, connectTimeout, onUnavailable, localShare, denyCache, lease };
}

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
