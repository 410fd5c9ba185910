import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { Decision, LimitState } from "../common/decision.ts";
import type { LimitDescription } from "../common/policy.ts";
import { allLimitsOf } from "../policy/limiter-decision.ts";
import { readHeadersOption } from "./headers-option.ts";
import { formatProblem, PROBLEM_JSON, statusOf } from "./problem.ts";
import type { ReportedDecision } from "./request-record.ts";
import { findBindingDecision, reportedDecisionsOf } from "./request-record.ts";
import type {
  Header,
  HeaderSettings,
  HeadersOption,
  LegacyStyle,
  PolicyText,
  Rejection,
  ResetUnit,
  Verdict,
} from "./verdict.ts";

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

/** RFC 6585 §4: caches must not store a response with status 429; nor is one with status 503 worth storing. */
export const NO_STORE: Header = ["Cache-Control", "no-store"];

/** The names of the legacy headers for the limit, what remains of it, and the reset. */
export const LEGACY_NAMES: Readonly<Record<LegacyStyle, readonly [string, string, string]>> = {
  "x-ratelimit": ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"],
  ratelimit: ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"],
};

const LEGACY_STYLES = Object.keys(LEGACY_NAMES) as LegacyStyle[];

/**
 * The response to a request, from all decisions on it so far. `nowMs` is the wall clock; `waitedMs` is how long the request
 * waited for the last decision, if that is reported.
 */
export function toVerdict(
  reported: readonly ReportedDecision[],
  nowMs: number,
  waitedMs?: number,
): Verdict {
  const binding = reported.length === 1 ? (reported[0] as ReportedDecision) : findBinding(reported);
  const { decision } = binding;
  const headers =
    reported.length === 1
      ? formatLegacyHeaders(decision, binding.headers.legacy, binding.headers.reset, nowMs)
      : LEGACY_STYLES.flatMap((style) => formatLegacyForAll(style, reported, binding, nowMs));
  addStandardHeaders(headers, reported);
  if (waitedMs !== undefined) {
    // `Server-Timing` (W3C), in milliseconds.
    headers.push(["Server-Timing", `headgate;dur=${waitedMs.toFixed(1)}`, "append"]);
  }
  if (decision.allowed || binding.passed === true) return { kind: "allowed", decision, headers };
  const retryAfter = binding.headers.retryAfter ? formatRetryAfter(decision) : undefined;
  if (retryAfter !== undefined) headers.push(["Retry-After", retryAfter]);
  headers.push(NO_STORE);
  const body = formatProblem(decision, binding.policyText?.quotedNames);
  const rejection = { status: statusOf(decision), contentType: PROBLEM_JSON, body };
  return { kind: "denied", decision, headers, rejection };
}

/**
 * The headers that the adapters would send for a decision of `limiter.consume`, `peek` or `wait`: the legacy and standard headers that
 * `headers` selects, as the option of the adapters does, and for a denial `Retry-After` and `Cache-Control: no-store`. None for a
 * decision in shadow mode. Throws `HEADGATE_INVALID_OPTION`.
 */
export function toRateLimitHeaders(
  decision: Decision,
  headers?: HeadersOption,
): Readonly<Record<string, string>> {
  const settings = readHeadersOption(headers);
  if (decision.shadow) return {};
  const reported = { decision, headers: settings, policyText: policyTextOf(decision, settings) };
  const verdict = toVerdict([reported], Date.now());
  return Object.fromEntries(
    "headers" in verdict ? verdict.headers.map(([name, value]) => [name, value as string]) : [],
  );
}

/** The text for a decision that may lack limits: the policy also names those that a cost by name left out. */
export function policyTextOf(decision: Decision, headers: HeaderSettings): PolicyText | undefined {
  const limits = allLimitsOf(decision);
  if (limits === undefined) return undefined;
  const quotedNames = decision.limits.map(({ name }) => quoteName(name));
  return { policyHeader: policyHeaderFor(limits, headers), quotedNames };
}

function findBinding(reported: readonly ReportedDecision[]): ReportedDecision {
  const denial = reported.find(({ decision, passed }) => !decision.allowed && passed !== true);
  if (denial !== undefined) return denial;
  const binding = findBindingDecision(reported.map(({ decision }) => decision));
  return reported.find(({ decision }) => decision === binding) as ReportedDecision;
}

/** The decision that binds among those on a request so far; undefined before the first. */
export function reportedDecision(request: object): Decision | undefined {
  const reported = reportedDecisionsOf(request);
  return reported.length === 0 ? undefined : findBinding(reported).decision;
}

/** Of several limiters with the same header names, the binding decision among them is reported. */
function formatLegacyForAll(
  style: LegacyStyle,
  reported: readonly ReportedDecision[],
  binding: ReportedDecision,
  nowMs: number,
): Header[] {
  const all = reported.filter(
    ({ decision, headers: { legacy } }) => legacy === style && decision.limits.length > 0,
  );
  if (all.length === 0) return [];
  if (!binding.decision.allowed && !all.includes(binding)) {
    // They would suggest that units are left.
    return LEGACY_NAMES[style].map((name) => [name, undefined]);
  }
  const { decision, headers: settings } = findBinding(all);
  return formatLegacyHeaders(decision, style, settings.reset, nowMs);
}

function addStandardHeaders(headers: Header[], reported: readonly ReportedDecision[]): void {
  let policy = "";
  let remaining = "";
  let quotas = "";
  for (const { decision, headers: settings, policyText } of reported) {
    if (decision.limits.length === 0) continue;
    if (settings.standard) {
      const separator = policy === "" ? "" : ", ";
      policy +=
        separator +
        (policyText?.policyHeader ?? formatPolicyHeader(decision.limits, policyText?.quotedNames));
      remaining += separator + formatRateLimitHeader(decision.limits, policyText?.quotedNames);
    } else if (settings.legacy === "ratelimit") {
      const separator = quotas === "" ? "" : ", ";
      quotas += separator + (policyText?.policyHeader ?? formatQuotas(decision.limits));
    }
  }
  if (policy !== "") headers.push(["RateLimit-Policy", policy], ["RateLimit", remaining]);
  else if (quotas !== "") headers.push(["RateLimit-Policy", quotas]);
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

/** `RateLimit-Policy` in the form that goes with these headers. `names` are the quoted names of the limits. */
function policyHeaderFor(
  limits: readonly LimitDescription[],
  { standard, legacy }: HeaderSettings,
  names?: readonly string[],
): string {
  const isDraft6 = !standard && legacy === "ratelimit";
  return isDraft6 ? formatQuotas(limits) : formatPolicyHeader(limits, names);
}

/** `RateLimit-Policy` of draft 6: every limit's quota and window (left out below a second). */
function formatQuotas(limits: readonly LimitDescription[]): string {
  return limits.map((limit) => `${limit.limit}${formatWindow(limit)}`).join(", ");
}

function formatWindow({ windowMs }: LimitDescription): string {
  return windowMs >= 1_000 ? `;w=${toSeconds(windowMs)}` : "";
}

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

/** `Retry-After` in whole seconds (RFC 9110 §10.2.3), rounded up; undefined if waiting does not help. */
export function formatRetryAfter({ retryAfterMs }: Decision): string | undefined {
  return Number.isFinite(retryAfterMs) ? String(toSeconds(retryAfterMs)) : undefined;
}

function toSeconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1_000);
}

/** A limit's name, which is printable ASCII, as a string of RFC 9651 §4.1.6; JSON writes it in the same way. */
function quoteName(name: string): string {
  return JSON.stringify(name);
}

/** The members of Node's response that Headgate uses, which is also the response of Express and Koa (`ctx.res`). */
interface WritableResponse {
  statusCode: number;
  getHeader(name: string): unknown;
  setHeader(name: string, value: string): unknown;
  removeHeader(name: string): unknown;
  end(body: string): unknown;
}

/** The value of a header on a response whose current value is `before`. */
export function resolveHeaderValue([, value, mode]: Header, before: unknown): string | undefined {
  return mode === undefined || before === undefined ? value : `${before}, ${value}`;
}

/** Sets headers on Node's response, or removes them. */
export function setHeaders(
  response: Pick<WritableResponse, "getHeader" | "setHeader" | "removeHeader">,
  headers: readonly Header[],
): void {
  for (const header of headers) {
    const [name, plain, mode] = header;
    const value = mode === undefined ? plain : resolveHeaderValue(header, response.getHeader(name));
    if (value === undefined) response.removeHeader(name);
    else response.setHeader(name, value);
  }
}

/** Sends the response to a rejected request on Node's response. */
export function sendRejection(
  response: Pick<WritableResponse, "statusCode" | "setHeader" | "end">,
  { status, contentType, body }: Rejection,
): void {
  response.statusCode = status;
  response.setHeader("Content-Type", contentType);
  response.end(body);
}
