import type { Decision } from "../decision.ts";
import type { Header } from "./headers.ts";
import { formatLegacy, formatPolicy, formatRemaining, formatRetryAfter } from "./headers.ts";
import { missingKeyProblem, PROBLEM_JSON, toProblem } from "./problem.ts";
import type { ToldDecision } from "./request-state.ts";
import { bindingDecision } from "./request-state.ts";
import type { Verdict } from "./verdict.ts";

/** RFC 6585 §4: an answer with status 429 must not be stored by a cache; nor is one with status 503 worth keeping. */
const NO_STORE: Header = ["Cache-Control", "no-store"];

/** `X-RateLimit-*`, to be taken off again where a limiter that tells nothing denies after one that told of room. */
const NO_LEGACY: readonly Header[] = [
  ["X-RateLimit-Limit", undefined],
  ["X-RateLimit-Remaining", undefined],
  ["X-RateLimit-Reset", undefined],
];

/** Says a request's decisions in HTTP, each as far as its limiter tells of it. `nowMs` is the wall clock. */
export function answerTo(told: readonly ToldDecision[], nowMs: number): Verdict {
  const binding = bindingDecision(told.map(({ decision }) => decision));
  const headers: Header[] = [...legacyHeaders(told, binding, nowMs)];
  const limits = told
    .filter((one) => one.headers.standard)
    .flatMap(({ decision }) => decision.limits);
  if (limits.length > 0) {
    headers.push(["RateLimit-Policy", formatPolicy(limits)]);
    headers.push(["RateLimit", formatRemaining(limits)]);
  }
  if (binding.allowed) return { kind: "allowed", decision: binding, headers };
  const retryAfter = formatRetryAfter(binding);
  if (retryAfter !== undefined) headers.push(["Retry-After", retryAfter]);
  headers.push(NO_STORE);
  const problem = toProblem(binding);
  return {
    kind: "denied",
    decision: binding,
    headers,
    rejection: {
      status: problem.status,
      contentType: PROBLEM_JSON,
      body: JSON.stringify(problem),
    },
  };
}

function legacyHeaders(
  told: readonly ToldDecision[],
  binding: Decision,
  nowMs: number,
): readonly Header[] {
  const shown = told.filter((one) => one.headers.legacy && hasNumbers(one.decision));
  const isHidden = !shown.some(({ decision }) => decision === binding);
  if (isHidden && !binding.allowed) return shown.length > 0 ? NO_LEGACY : [];
  if (shown.length === 0) return [];
  const visible = bindingDecision(shown.map(({ decision }) => decision));
  const { headers } = shown.find(({ decision }) => decision === visible) as ToldDecision;
  return formatLegacy(visible, headers.legacyReset ?? "delta", nowMs);
}

/** A decision that was taken without counting has nothing to tell. */
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
