import {
  formatDuration,
  formatOptions,
  invalidValue,
  parseDuration,
  readFailureOptions,
  rejectUnknownOptions,
  toMilliseconds,
} from "@headgate/core/internal";
import type { BreakerOptions, Settings } from "./breaker-options.ts";
import type { BreakerPolicy } from "./machine/breaker-policy.ts";
import { callWindow } from "./machine/call-window.ts";
import { DAY_MICROS } from "./machine/period.ts";
import { timeWindow } from "./machine/time-window.ts";

const OPTIONS = [
  "name",
  "store",
  "storeTimeout",
  "connectTimeout",
  "window",
  "minimumSuccessRate",
  "minimumCalls",
  "slowCall",
  "slowCallRate",
  "openFor",
  "trialCalls",
  "trialCallTimeout",
  "rampUp",
  "flushInterval",
  "isFailure",
  "abortOutcome",
  "maxTargets",
] as const;

/** Options that may differ between breakers of one name. */
const PER_INSTANCE_OPTIONS: readonly string[] = [
  "name",
  "store",
  "isFailure",
  "abortOutcome",
  "maxTargets",
];

/** Options of other breakers, and their equivalents here. */
const HINTS = {
  errorThresholdPercentage: "minimumSuccessRate, 0 to 1",
  failureRateThreshold: "minimumSuccessRate, 0 to 1",
  threshold: "minimumSuccessRate, 0 to 1",
  volumeThreshold: "minimumCalls",
  minimumNumberOfCalls: "minimumCalls",
  minimumRps: "minimumCalls",
  resetTimeout: "openFor",
  halfOpenAfter: "openFor",
  waitDurationInOpenState: "openFor",
  permittedNumberOfCallsInHalfOpenState: "trialCalls",
  rollingCountTimeout: "window",
  slidingWindowSize: "window",
  duration: "window",
  slowCallDurationThreshold: "slowCall",
  slowCallRateThreshold: "slowCallRate, 0 to 1",
  errorFilter: "isFailure",
  timeout: "run(fn, { timeout })",
  fallback: "run(fn, { fallback })",
};

const MINUTE = 60_000_000;

/** A crashed process cannot report that its trial call took too long: others wait this much longer for it. */
const LEASE_GRACE = 1_000_000;

/** A rate that no calls reach. */
const NEVER_SLOW = 2;

/** Openings in a row after which `openFor` no longer changes. */
const MAX_OPENINGS = 20;

/** Reads the options. Throws `HEADGATE_INVALID_OPTION`. */
export function readBreakerOptions<Result>(options: BreakerOptions<Result>): Settings<Result> {
  rejectUnknownOptions("createBreaker", options, OPTIONS, () => HINTS);
  const { storeTimeout, connectTimeout, isFailure, abortOutcome = "ignore" } = options;
  const { timeoutMs, connectMs } = readFailureOptions({ storeTimeout, connectTimeout });
  requireThat(
    isFailure === undefined || typeof isFailure === "function",
    "isFailure must be a function",
    isFailure,
  );
  requireThat(
    ["ignore", "success", "failure"].includes(abortOutcome),
    'abortOutcome must be "ignore", "success" or "failure"',
    abortOutcome,
  );
  const trialCallTimeout = readMicros(
    "trialCallTimeout",
    options.trialCallTimeout ?? "30s",
    DAY_MICROS,
  );
  const slowCall =
    options.slowCall === undefined ? 0 : readMicros("slowCall", options.slowCall, DAY_MICROS);
  const flushIntervalMicros =
    options.flushInterval === 0
      ? 0
      : readMicros("flushInterval", options.flushInterval ?? 250, MINUTE);
  const policy = readPolicy(options, trialCallTimeout + LEASE_GRACE);
  const written = policyOptionsOf(options);
  // A function is shown by its return values.
  const openFor =
    typeof options.openFor === "function" ? policy.openForMicros.map(formatDuration) : undefined;
  return {
    policy,
    storeTimes: { timeoutMs, connectMs },
    slowCallMs: slowCall === 0 ? Number.POSITIVE_INFINITY : slowCall / 1_000,
    trialCallTimeoutMs: toMilliseconds(trialCallTimeout),
    flushIntervalMicros,
    isFailure,
    abortOutcome,
    maxTargets: readWholeNumber("maxTargets", options.maxTargets ?? 1_000, 100_000),
    canonical: `${policy.description} slow ${slowCall} flush ${flushIntervalMicros} timeout ${timeoutMs}${connectMs === readFailureOptions({}).connectMs ? "" : ` connect ${connectMs}`}`,
    displayText: `${formatOptions(written)}${openFor === undefined ? "" : ` where openFor gives ${openFor.join(", ")}`}`,
    policyOptions: openFor === undefined ? written : { ...written, openFor },
  };
}

/** The options that are part of the policy. */
function policyOptionsOf(options: BreakerOptions<never>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(options).filter(([option]) => !PER_INSTANCE_OPTIONS.includes(option)),
  );
}

function readPolicy(options: BreakerOptions<never>, leaseMicros: number): BreakerPolicy {
  const { window, windowSize } = readWindow(options.window ?? "5m");
  const maximum = window === callWindow ? windowSize : 2 ** 32;
  const minimumCalls = readWholeNumber(
    "minimumCalls",
    options.minimumCalls ?? Math.min(20, maximum),
    maximum,
  );
  const { minimumSuccessRate = 0.5 } = options;
  requireThat(
    typeof minimumSuccessRate === "number" && minimumSuccessRate >= 0 && minimumSuccessRate <= 1,
    "minimumSuccessRate must be from 0 to 1",
    minimumSuccessRate,
  );
  requireThat(
    options.slowCallRate === undefined || options.slowCall !== undefined,
    "slowCallRate needs slowCall, the duration above which a call is slow",
    options.slowCallRate,
  );
  const { slowCallRate = 1 } = options;
  requireThat(
    typeof slowCallRate === "number" && slowCallRate > 0 && slowCallRate <= 1,
    "slowCallRate must be above 0, up to 1",
    slowCallRate,
  );
  const trialCalls = readWholeNumber("trialCalls", options.trialCalls ?? 5, 100);
  const rampUpMicros =
    options.rampUp === undefined ? 0 : readMicros("rampUp", options.rampUp, DAY_MICROS);
  const openForMicros = readOpenFor(options.openFor ?? "30s");
  const slowCallThreshold = options.slowCall === undefined ? NEVER_SLOW : slowCallRate;
  const description = [
    ...[window.kind, windowSize, minimumCalls, minimumSuccessRate, slowCallThreshold],
    ...[trialCalls, leaseMicros, rampUpMicros, ...openForMicros],
  ].join(" ");
  return {
    window,
    windowSize,
    minimumCalls,
    minimumSuccessRate,
    slowCallRate: slowCallThreshold,
    trialCalls,
    leaseMicros,
    rampUpMicros,
    openForMicros,
    description,
  };
}

function readWindow(window: unknown): Pick<BreakerPolicy, "window" | "windowSize"> {
  if (typeof window !== "object" || window === null) {
    return { window: timeWindow, windowSize: readMicros("window", window, DAY_MICROS) };
  }
  rejectUnknownOptions("window", window, ["calls"]);
  const { calls } = window as { readonly calls?: unknown };
  return { window: callWindow, windowSize: readWholeNumber("window.calls", calls, 10_000) };
}

/** The times of the first openings in a row; equal ones at the end are sent once. */
function readOpenFor(openFor: unknown): number[] {
  if (typeof openFor !== "function") return [readMicros("openFor", openFor)];
  const times = Array.from({ length: MAX_OPENINGS }, (_, i) =>
    readMicros(`openFor(${i + 1})`, openFor(i + 1)),
  );
  while (times.length > 1 && times.at(-1) === times.at(-2)) times.pop();
  return times;
}

function readMicros(
  option: string,
  value: unknown,
  maximum: number = Number.POSITIVE_INFINITY,
): number {
  const time = parseDuration(value, option, "HEADGATE_INVALID_OPTION");
  const range = maximum === DAY_MICROS ? "1 day" : "1 minute";
  requireThat(time <= maximum, `${option} must be at most ${range}`, value);
  return time;
}

function readWholeNumber(option: string, value: unknown, maximum: number): number {
  const isWhole =
    Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= maximum;
  requireThat(isWhole, `${option} must be a whole number from 1 to ${maximum}`, value);
  return value as number;
}

function requireThat(isValid: boolean, rule: string, received: unknown): void {
  if (!isValid) throw invalidValue(`createBreaker: ${rule}`, received);
}
