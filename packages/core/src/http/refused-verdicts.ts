import { BLOCKED_PROBLEM, missingKeyProblem, PROBLEM_JSON } from "./problem.ts";
import { LEGACY_NAMES, NO_STORE } from "./rate-limit-response.ts";
import type { Header, Verdict } from "./verdict.ts";

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
