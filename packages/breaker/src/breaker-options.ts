import type { Duration, Store } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import type { StoreTimes } from "@headgate/core/internal";
import {
  formatDuration,
  formatOptions,
  formatReceived,
  parseDuration,
  readFailureOptions,
  rejectUnknownOptions,
  toMilliseconds,
} from "@headgate/core/internal";
import type { BreakerPolicy } from "./machine/breaker-policy.ts";
import { callWindow } from "./machine/call-window.ts";
import { timeWindow } from "./machine/time-window.ts";

/** How a call counts that its caller cancelled. */
export type Aborted = "ignore" | "success" | "failure";

/** Judges a call that has ended: a failure or not, or `"ignore"` if it says nothing about the target. */
export type IsFailure<Result> = (call: PromiseSettledResult<Result>) => boolean | "ignore";

/** Options of `createBreaker`. */
export interface BreakerOptions<Result = unknown> {
  /** The identity of the counts, across processes and deploys. Required with a `store`. */
  readonly name?: string | undefined;
  /** Where counts live. Default: the memory of this process. */
  readonly store?: Store | undefined;
  /** The longest wait for the store, in time that this process runs: 1 ms to 1 minute. Default 100 ms. */
  readonly storeTimeout?: Duration | undefined;
  /** The longest wait for the first answer of the store's client: 0, or 1 ms to 1 minute. Default 1 s. */
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
  readonly probes?: number | undefined;
  /** A trial call that takes longer is a failure; if its process has crashed, other processes count it a second later. Default 30 s. */
  readonly probeTimeout?: Duration | undefined;
  /** How long after closing all calls are let through again; it begins with one in ten. Default: at once. */
  readonly ramp?: Duration | undefined;
  /** How long outcomes are collected before they are sent: up to 1 minute; 0 sends each by itself. Default 250 ms. */
  readonly flushInterval?: Duration | 0 | undefined;
  /**
   * Whether a call that returned or threw is a failure of the target, or says nothing about it, such as an invalid request.
   * Default: a call that threw is a failure. What this function throws goes to the caller, and the call is a failure.
   */
  readonly isFailure?: IsFailure<Result> | undefined;
  /** How a call counts that its caller cancelled. Default `"ignore"`. */
  readonly aborted?: Aborted | undefined;
  /** How many targets this process remembers: 1 to 100,000. Default 1,000. */
  readonly maxTargets?: number | undefined;
}

/** The options with their defaults. Times are microseconds, unless their names say otherwise. */
export interface Settings<Result> {
  readonly policy: BreakerPolicy;
  readonly storeTimes: StoreTimes;
  readonly slowCallMs: number;
  readonly probeTimeoutMs: number;
  readonly flushInterval: number;
  readonly isFailure: IsFailure<Result> | undefined;
  readonly aborted: Aborted;
  readonly maxTargets: number;
  /** Equal if and only if two breakers have the same policy. */
  readonly canonical: string;
  /** The policy as it was written, for messages. */
  readonly written: string;
  /** The options of the policy as they were written; for a function `openFor`, the times that it returns. */
  readonly deciding: Readonly<Record<string, unknown>>;
}

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

/** Options of other breakers, and what to use instead. */
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

/** How many openings in a row are told apart. */
const STEPS = 20;

/** Reads the options. Throws `HEADGATE_INVALID_OPTION`. */
export function readBreakerOptions<Result>(options: BreakerOptions<Result>): Settings<Result> {
  rejectUnknownOptions("createBreaker", options, OPTIONS, HINTS);
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
    written: formatPolicy(options, policy),
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

/** The options that are part of the policy, as they were written. A function is shown by what it returns. */
function formatPolicy(options: BreakerOptions<never>, { openFor }: BreakerPolicy): string {
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
  if (holds) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `createBreaker: ${rule}, got ${formatReceived(received)}`,
  );
}
