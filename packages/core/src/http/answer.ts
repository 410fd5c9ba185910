import type { Decision } from "../decision.ts";
import type { Header } from "./headers.ts";
import {
  formatLegacy,
  formatPolicy,
  formatRemaining,
  formatRetryAfter,
  formatWaited,
} from "./headers.ts";
import {
  BLOCKED_PROBLEM,
  formatProblem,
  missingKeyProblem,
  PROBLEM_JSON,
  statusOf,
} from "./problem.ts";
import type { ReportedDecision } from "./request-state.ts";
import { bindingDecision } from "./request-state.ts";
import type { Verdict } from "./verdict.ts";

/** RFC 6585 §4: an answer with status 429 must not be stored by a cache; nor is one with status 503 worth keeping. */
const NO_STORE: Header = ["Cache-Control", "no-store"];

const NONE: readonly Header[] = [];

/** `X-RateLimit-*`, to be removed again if a limiter that reports nothing denies after one that reported room. */
const NO_LEGACY: readonly Header[] = [
  ["X-RateLimit-Limit", undefined],
  ["X-RateLimit-Remaining", undefined],
  ["X-RateLimit-Reset", undefined],
];

/**
 * Writes a request's decisions into an HTTP answer, each as far as its limiter reports it. `nowMs` is the wall clock; `waitedMs` how long the
 * request waited for the last of them, where that is reported.
 */
export function answerTo(
  reported: readonly ReportedDecision[],
  nowMs: number,
  waitedMs?: number,
): Verdict {
  const binding = bindingAmong(reported);
  const { decision } = binding;
  const headers = [...legacyHeaders(reported, binding, nowMs), ...standardHeaders(reported)];
  if (waitedMs !== undefined) headers.push(["Server-Timing", formatWaited(waitedMs), "added"]);
  if (!denies(binding)) return { kind: "allowed", decision, headers };
  const retryAfter = formatRetryAfter(decision);
  if (retryAfter !== undefined) headers.push(["Retry-After", retryAfter]);
  headers.push(NO_STORE);
  return {
    kind: "denied",
    decision,
    headers,
    rejection: {
      status: statusOf(decision),
      contentType: PROBLEM_JSON,
      body: formatProblem(decision, binding.text?.names),
    },
  };
}

function bindingAmong(reported: readonly ReportedDecision[]): ReportedDecision {
  const [first] = reported as readonly [ReportedDecision];
  if (reported.length === 1) return first;
  const denial = reported.find(denies);
  if (denial !== undefined) return denial;
  const binding = bindingDecision(reported.map(({ decision }) => decision));
  return reported.find(({ decision }) => decision === binding) as ReportedDecision;
}

/** Whether it ends the request: a denial that the application has not let on. */
function denies({ decision, passed }: ReportedDecision): boolean {
  return !decision.allowed && passed !== true;
}

function legacyHeaders(
  asked: readonly ReportedDecision[],
  binding: ReportedDecision,
  nowMs: number,
): readonly Header[] {
  const shown = asked.length === 1 && showsNumbers(binding) ? asked : asked.filter(showsNumbers);
  if (shown.length === 0) return NONE;
  if (!binding.decision.allowed && !shown.includes(binding)) return NO_LEGACY;
  const { decision, headers } = bindingAmong(shown);
  return formatLegacy(decision, headers.legacyReset ?? "delta", nowMs);
}

function showsNumbers({ decision, headers }: ReportedDecision): boolean {
  return headers.legacy === true && hasNumbers(decision);
}

function standardHeaders(reported: readonly ReportedDecision[]): readonly Header[] {
  let policy = "";
  let remaining = "";
  for (const { decision, headers, text } of reported) {
    if (!headers.standard || !hasNumbers(decision)) continue;
    const separator = policy === "" ? "" : ", ";
    policy += separator + (text?.policy ?? formatPolicy(decision.limits, text?.names));
    remaining += separator + formatRemaining(decision.limits, text?.names);
  }
  if (policy === "") return NONE;
  return [
    ["RateLimit-Policy", policy],
    ["RateLimit", remaining],
  ];
}

/** A decision without counting has nothing to report. */
function hasNumbers({ limits }: Decision): boolean {
  return limits.length > 0;
}

/** The answer to a request that lacks the key of a dimension. */
export function refuseMissing(dimension: string): Verdict {
  const body = JSON.stringify(missingKeyProblem(dimension));
  return {
    kind: "refused",
    headers: [NO_STORE],
    rejection: { status: 400, contentType: PROBLEM_JSON, body },
  };
}

/** The answer to a request whose client is blocked. What limiters before this one reported is taken off again. */
export const BLOCKED: Verdict = {
  kind: "refused",
  headers: [...NO_LEGACY, ["RateLimit-Policy", undefined], ["RateLimit", undefined], NO_STORE],
  rejection: {
    status: BLOCKED_PROBLEM.status,
    contentType: PROBLEM_JSON,
    body: JSON.stringify(BLOCKED_PROBLEM),
  },
};
