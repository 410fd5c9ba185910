import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { Decision, LimitState } from "../common/decision.ts";
import type { HeadgateError } from "../common/errors.ts";
import { formatReceived, invalidValue } from "../common/errors.ts";
import { rejectUnknownOptions } from "../common/options.ts";
import type { LimitDescription } from "../common/policy.ts";
import { allLimitsOf } from "../policy/limiter-decision.ts";

/** A header's name and value; undefined removes it. With the mode `"append"` the value is appended to the response's own. */
export type Header = readonly [name: string, value: string | undefined, mode?: "append"];

/** Which rate limit headers a response carries. */
export interface HeaderOptions {
  /**
   * The numbers of the binding limit, in three headers: `X-RateLimit-Limit`, `-Remaining`, `-Reset` (`true` or `"x-ratelimit"`,
   * default), or `RateLimit-Limit`, `-Remaining`, `-Reset` of draft-ietf-httpapi-ratelimit-headers-06 (`"ratelimit"`).
   */
  readonly legacy?: boolean | LegacyStyle | undefined;
  /**
   * `RateLimit-Policy` and `RateLimit`, draft-ietf-httpapi-ratelimit-headers-11. Default true, but false with `legacy: "ratelimit"`,
   * whose header names they share.
   */
  readonly standard?: boolean | undefined;
  /**
   * The unit of the legacy header `-Reset`: seconds from now (`"delta"`, default), or seconds (`"epoch"`) or milliseconds
   * (`"epoch-ms"`) since the Unix epoch.
   */
  readonly reset?: ResetUnit | undefined;
  /** `Retry-After` on a denial. Default true. */
  readonly retryAfter?: boolean | undefined;
}

/** The names of the legacy headers: `"x-ratelimit"` for `X-RateLimit-Limit` and so on, `"ratelimit"` for `RateLimit-Limit` and so on. */
export type LegacyStyle = "x-ratelimit" | "ratelimit";

/**
 * The unit of the legacy header `-Reset`: seconds from now (`"delta"`), or seconds (`"epoch"`) or milliseconds (`"epoch-ms"`)
 * since the Unix epoch.
 */
export type ResetUnit = "delta" | "epoch" | "epoch-ms";

/** Which headers a response carries; `false` for only `Retry-After`. */
export type HeadersOption = HeaderOptions | boolean;

/** The option `headers` with its defaults. */
export interface HeaderSettings {
  readonly legacy: LegacyStyle | false;
  readonly standard: boolean;
  readonly reset: ResetUnit;
  readonly retryAfter: boolean;
}

/**
 * The binding limit's numbers in three headers; none of a decision made without counting, which has nothing to report. `nowMs`
 * is the wall clock.
 */
export function formatLegacyHeaders(
  { limits, limit, remaining, resetAfterMs }: Decision,
  style: LegacyStyle | false,
  unit: ResetUnit,
  nowMs: number,
): Header[] {
  if (style === false || limits.length === 0) return [];
  const names = LEGACY_NAMES[style];
  const at = unit === "delta" ? resetAfterMs : nowMs + resetAfterMs;
  const reset = Math.ceil(unit === "epoch-ms" ? at : at / 1_000);
  return [
    [names[0], String(limit)],
    [names[1], String(remaining)],
    [names[2], String(reset)],
  ];
}

/** The names of the legacy headers for the limit, what remains of it, and the reset. */
export const LEGACY_NAMES: Readonly<Record<LegacyStyle, readonly [string, string, string]>> = {
  "x-ratelimit": ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"],
  ratelimit: ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"],
};

/**
 * `RateLimit-Policy`: every limit's quota and window (left out below a second), as an RFC 9651 list. `names` are the
 * limits', quoted.
 */
export function formatPolicyHeader(
  limits: readonly LimitDescription[],
  names: readonly string[] = limits.map(({ name }) => quoteName(name)),
): string {
  const items = limits.map((limit, i) => `${names[i]};q=${limit.limit}${formatWindow(limit)}`);
  return items.join(", ");
}

/** `RateLimit`: each limit's remaining units and, if known, the seconds until there are more, as an RFC 9651 list. */
export function formatRateLimitHeader(
  limits: readonly LimitState[],
  names: readonly string[] = limits.map(({ name }) => quoteName(name)),
): string {
  let list = "";
  for (let i = 0; i < limits.length; i += 1) {
    const limit = limits[i] as LimitState;
    // A concurrency limit has no window.
    const time = limit.windowMs === 0 ? "" : `;t=${toSeconds(limit.refillAfterMs)}`;
    const item = `${names[i]};r=${limit.remaining}${time}`;
    list = i === 0 ? item : `${list}, ${item}`;
  }
  return list;
}

/** `RateLimit-Policy` of draft 6: every limit's quota and window (left out below a second). */
export function formatQuotas(limits: readonly LimitDescription[]): string {
  return limits.map((limit) => `${limit.limit}${formatWindow(limit)}`).join(", ");
}

/** `Retry-After` in whole seconds (RFC 9110 §10.2.3), rounded up; undefined if waiting does not help. */
export function formatRetryAfter({ retryAfterMs }: Decision): string | undefined {
  return Number.isFinite(retryAfterMs) ? String(toSeconds(retryAfterMs)) : undefined;
}

/** RFC 6585 §4: caches must not store a response with status 429; nor is one with status 503 worth storing. */
export const NO_STORE: Header = ["Cache-Control", "no-store"];

function formatWindow({ windowMs }: LimitDescription): string {
  return windowMs >= 1_000 ? `;w=${toSeconds(windowMs)}` : "";
}

function toSeconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1_000);
}

/** A limit's name, which is printable ASCII, as a string of RFC 9651 §4.1.6; JSON writes it in the same way. */
function quoteName(name: string): string {
  return JSON.stringify(name);
}

/** The parts of a response that depend only on the policy, written once. */
export interface PolicyText {
  /** `RateLimit-Policy` in the form that the guard sends; undefined if the numbers are the request's, or the window's length changes with the calendar. */
  readonly policyHeader: string | undefined;
  /** The names of the limits, quoted, in their order. */
  readonly quotedNames: readonly string[];
}

/** Prepares the parts that all responses with these headers share. */
export function preparePolicyText(
  limits: readonly CompiledLimit[],
  headers: HeaderSettings,
): PolicyText {
  const quotedNames = limits.map(({ name }) => quoteName(name));
  const isFixed = limits.every(({ calendar }) => calendar === undefined);
  return {
    policyHeader: isFixed ? policyHeaderFor(limits, headers, quotedNames) : undefined,
    quotedNames,
  };
}

/** The text for a decision that may lack limits: the policy also names those that a cost by name left out. */
export function policyTextOf(decision: Decision, headers: HeaderSettings): PolicyText | undefined {
  const limits = allLimitsOf(decision);
  if (limits === undefined) return undefined;
  const quotedNames = decision.limits.map(({ name }) => quoteName(name));
  return { policyHeader: policyHeaderFor(limits, headers), quotedNames };
}

/** `RateLimit-Policy` in the form that goes with these headers. `names` are the quoted names of the limits. */
function policyHeaderFor(
  limits: readonly LimitDescription[],
  { standard, legacy }: HeaderSettings,
  names?: readonly string[],
): string {
  const isDraft6 = !standard && legacy === "ratelimit";
  return isDraft6 ? formatQuotas(limits) : formatPolicyHeader(limits, names);
}

/** The option `headers` with its defaults. Throws `HEADGATE_INVALID_OPTION`. */
export function readHeadersOption(option: HeadersOption | undefined): HeaderSettings {
  if (option === false) return { legacy: false, standard: false, reset: "delta", retryAfter: true };
  const given = option === undefined || option === true ? {} : option;
  rejectUnknownOptions("headers", given, Object.keys(VALUES));
  for (const [name, values] of Object.entries(VALUES)) {
    requireOneOf(name, given[name as keyof typeof VALUES], values);
  }
  const legacy = given.legacy === undefined || given.legacy === true ? "x-ratelimit" : given.legacy;
  if (legacy === false && given.reset !== undefined) throw withoutLegacy(given.reset);
  const { standard = legacy !== "ratelimit", reset = "delta", retryAfter = true } = given;
  return { legacy, standard, reset, retryAfter };
}

/** The valid values of each option. */
const VALUES = {
  legacy: [true, false, "x-ratelimit", "ratelimit"],
  standard: [true, false],
  reset: ["delta", "epoch", "epoch-ms"],
  retryAfter: [true, false],
} as const;

function requireOneOf(option: string, value: unknown, allowed: readonly unknown[]): void {
  if (value === undefined || allowed.includes(value)) return;
  const rule = new Intl.ListFormat("en", { type: "disjunction" }).format(
    allowed.map(formatReceived),
  );
  throw invalidValue(`headers: ${option} must be ${rule}`, value);
}

/** Throws for the unit of a header that is not sent. */
function withoutLegacy(reset: string): HeadgateError {
  return invalidValue(
    "headers: reset is the unit of a legacy header, which legacy: false turns off",
    reset,
  );
}
