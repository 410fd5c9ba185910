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
  "probes",
  "probeTimeout",
  "ramp",
  "flushInterval",
  "isFailure",
  "aborted",
  "maxTargets",
] as const;

/** Options that may differ between breakers of one name. */
const APART: readonly string[] = ["name", "store", "isFailure", "aborted", "maxTargets"];

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
  permittedNumberOfCallsInHalfOpenState: "probes",
  rollingCountTimeout: "window",
  slidingWindowSize: "window",
  duration: "window",
  slowCallDurationThreshold: "slowCall",
  slowCallRateThreshold: "slowCallRate, 0 to 1",
  errorFilter: "isFailure",
  timeout: "run(fn, { timeout })",
  fallback: "run(fn, { fallback })",
};

const DAY = 86_400_000_000;
const MINUTE = 60_000_000;

/** A crashed process cannot report that its trial call took too long: others wait this much longer for it. */
const LEASE_GRACE = 1_000_000;

/** A rate that no calls reach. */
const NEVER = 2;

/** Openings in a row after which `openFor` no longer changes. */
const STEPS = 20;

/** Reads the options. Throws `HEADGATE_INVALID_OPTION`. */
export function readBreakerOptions<Result>(options: BreakerOptions<Result>): Settings<Result> {
  rejectUnknownOptions("createBreaker", options, OPTIONS, () => HINTS);
  const { storeTimeout, connectTimeout, isFailure, aborted = "ignore" } = options;
  const { timeoutMs, connectMs } = readFailureOptions({ storeTimeout, connectTimeout });
  requireThat(
    isFailure === undefined || typeof isFailure === "function",
    "isFailure must be a function",
    isFailure,
  );
  requireThat(
    ["ignore", "success", "failure"].includes(aborted),
    'aborted must be "ignore", "success" or "failure"',
    aborted,
  );
  const probeTimeout = timeOf("probeTimeout", options.probeTimeout ?? "30s", DAY);
  const slowCall = options.slowCall === undefined ? 0 : timeOf("slowCall", options.slowCall, DAY);
  const flushInterval =
    options.flushInterval === 0 ? 0 : timeOf("flushInterval", options.flushInterval ?? 250, MINUTE);
  const policy = readPolicy(options, probeTimeout + LEASE_GRACE);
  return {
    policy,
    storeTimes: { timeoutMs, connectMs },
    slowCallMs: slowCall === 0 ? Number.POSITIVE_INFINITY : slowCall / 1_000,
    probeTimeoutMs: toMilliseconds(probeTimeout),
    flushInterval,
    isFailure,
    aborted,
    maxTargets: wholeOf("maxTargets", options.maxTargets ?? 1_000, 100_000),
    canonical: `${policy.description} slow ${slowCall} flush ${flushInterval} timeout ${timeoutMs}${connectMs === readFailureOptions({}).connectMs ? "" : ` connect ${connectMs}`}`,
    written: formatBreakerOptions(options, policy),
    deciding: withTimes(decidingOf(options), policy),
  };
}

/** The options that are part of the policy. */
function decidingOf(options: BreakerOptions<never>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(options).filter(([option]) => !APART.includes(option)));
}

/** The options of the policy as data. */
function withTimes(
  deciding: Readonly<Record<string, unknown>>,
  { openFor }: BreakerPolicy,
): Readonly<Record<string, unknown>> {
  if (typeof deciding["openFor"] !== "function") return deciding;
  return { ...deciding, openFor: openFor.map(formatDuration) };
}

/** The written options of the policy; a function is shown by its return values. */
function formatBreakerOptions(options: BreakerOptions<never>, { openFor }: BreakerPolicy): string {
  const written = formatOptions(decidingOf(options));
  if (typeof options.openFor !== "function") return written;
  return `${written} where openFor gives ${openFor.map(formatDuration).join(", ")}`;
}

function readPolicy(options: BreakerOptions<never>, lease: number): BreakerPolicy {
  const { window, size } = readWindow(options.window ?? "5m");
  const most = window === callWindow ? size : 2 ** 32;
  const minimumCalls = wholeOf("minimumCalls", options.minimumCalls ?? Math.min(20, most), most);
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
  const probes = wholeOf("probes", options.probes ?? 5, 100);
  const ramp = options.ramp === undefined ? 0 : timeOf("ramp", options.ramp, DAY);
  const openFor = readOpenFor(options.openFor ?? "30s");
  const slowest = options.slowCall === undefined ? NEVER : slowCallRate;
  const description = [
    ...[window.kind, size, minimumCalls, minimumSuccessRate, slowest],
    ...[probes, lease, ramp, ...openFor],
  ].join(" ");
  return {
    window,
    size,
    minimumCalls,
    minimumSuccessRate,
    slowCallRate: slowest,
    probes,
    lease,
    ramp,
    openFor,
    description,
  };
}

function readWindow(window: unknown): Pick<BreakerPolicy, "window" | "size"> {
  if (typeof window !== "object" || window === null) {
    return { window: timeWindow, size: timeOf("window", window, DAY) };
  }
  rejectUnknownOptions("window", window, ["calls"]);
  const { calls } = window as { readonly calls?: unknown };
  return { window: callWindow, size: wholeOf("window.calls", calls, 10_000) };
}

/** The times of the first openings in a row; equal ones at the end are sent once. */
function readOpenFor(openFor: unknown): number[] {
  if (typeof openFor !== "function") return [timeOf("openFor", openFor)];
  const times = Array.from({ length: STEPS }, (_, i) =>
    timeOf(`openFor(${i + 1})`, openFor(i + 1)),
  );
  while (times.length > 1 && times.at(-1) === times.at(-2)) times.pop();
  return times;
}

function timeOf(
  option: string,
  value: unknown,
  longest: number = Number.POSITIVE_INFINITY,
): number {
  const time = parseDuration(value, option, "HEADGATE_INVALID_OPTION");
  const range = longest === DAY ? "1 day" : "1 minute";
  requireThat(time <= longest, `${option} must be at most ${range}`, value);
  return time;
}

function wholeOf(option: string, value: unknown, most: number): number {
  const isWhole =
    Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= most;
  requireThat(isWhole, `${option} must be a whole number from 1 to ${most}`, value);
  return value as number;
}

function requireThat(holds: boolean, rule: string, received: unknown): void {
  if (!holds) throw invalidValue(`createBreaker: ${rule}`, received);
}
