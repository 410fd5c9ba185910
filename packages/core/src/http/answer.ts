import type { Decision } from "../decision.ts";
import type { Header, HeaderOptions } from "./headers.ts";
import { formatLegacy, formatPolicy, formatRemaining, formatRetryAfter } from "./headers.ts";
import { missingKeyProblem, PROBLEM_JSON, toProblem } from "./problem.ts";
import { bindingDecision } from "./request-state.ts";
import type { Verdict } from "./verdict.ts";

/** RFC 6585 §4: an answer with status 429 must not be stored by a cache. */
const NO_STORE: Header = ["Cache-Control", "no-store"];

/** Says the latest of a request's decisions in HTTP. `nowMs` is the wall clock. */
export function answerTo(
  decisions: readonly Decision[],
  options: Required<HeaderOptions>,
  nowMs: number,
): Verdict {
  const binding = bindingDecision(decisions);
  const headers: Header[] = [];
  if (options.legacy) {
    headers.push(...formatLegacy(binding, options.legacyReset ?? "delta", nowMs));
  }
  if (options.standard) {
    const limits = decisions.flatMap((decision) => decision.limits);
    headers.push(["RateLimit-Policy", formatPolicy(limits)]);
    headers.push(["RateLimit", formatRemaining(limits)]);
  }
  if (binding.allowed) return { kind: "allowed", decision: binding, headers };
  const retryAfter = formatRetryAfter(binding);
  if (retryAfter !== undefined) headers.push(["Retry-After", retryAfter]);
  headers.push(NO_STORE);
  const body = JSON.stringify(toProblem(binding));
  return {
    kind: "denied",
    decision: binding,
    headers,
    rejection: { status: 429, contentType: PROBLEM_JSON, body },
  };
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
