import type { Decision } from "../common/decision.ts";
import type { Verdict } from "./apply-verdict.ts";
import type { Header, HeadersOption, LegacyStyle } from "./headers.ts";
import {
  formatLegacyHeaders,
  formatPolicyHeader,
  formatQuotas,
  formatRateLimitHeader,
  formatRetryAfter,
  LEGACY_NAMES,
  NO_STORE,
  policyTextOf,
  readHeadersOption,
} from "./headers.ts";
import {
  BLOCKED_PROBLEM,
  formatProblem,
  missingKeyProblem,
  PROBLEM_JSON,
  statusOf,
} from "./problem.ts";
import type { ReportedDecision } from "./request-record.ts";
import { findBindingDecision, reportedDecisionsOf } from "./request-record.ts";

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

/** The response to a request that lacks the key of a dimension. */
export function refuseMissingKey(dimension: string): Verdict {
  const body = JSON.stringify(missingKeyProblem(dimension));
  const rejection = { status: 400, contentType: PROBLEM_JSON, body };
  return { kind: "refused", headers: [NO_STORE], rejection };
}

/** The response to a client on a deny list, without the headers set by limiters before this one. */
export const DENIED_BY_LIST: Verdict = {
  kind: "refused",
  headers: [
    ...[...Object.values(LEGACY_NAMES).flat(), "RateLimit-Policy", "RateLimit"].map(
      (name): Header => [name, undefined],
    ),
    NO_STORE,
  ],
  rejection: {
    status: BLOCKED_PROBLEM.status,
    contentType: PROBLEM_JSON,
    body: JSON.stringify(BLOCKED_PROBLEM),
  },
};
