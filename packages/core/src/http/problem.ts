import type { Decision } from "../decision.ts";

/** A problem of RFC 9457, as draft-ietf-httpapi-ratelimit-headers-11 defines it for quotas and for reduced capacity. */
export interface QuotaProblem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** The names of the limits that denied. */
  readonly "violated-policies": readonly string[];
}

const PROBLEM_TYPES = "https://iana.org/assignments/http-problem-types";

export const PROBLEM_JSON = "application/problem+json";

/** The body of the answer to a denied request. A decision with the source `"deny"` names no limits: none was asked. */
export function toProblem(decision: Decision): QuotaProblem {
  const isQuota = decision.source !== "deny";
  return {
    type: `${PROBLEM_TYPES}#${isQuota ? "quota-exceeded" : "temporary-reduced-capacity"}`,
    title: isQuota ? "Too Many Requests" : "Service Unavailable",
    status: isQuota ? 429 : 503,
    "violated-policies": decision.limits.filter(({ allowed }) => !allowed).map(({ name }) => name),
  };
}

/** The body of the answer to a request that lacks what it is counted by. */
export function missingKeyProblem(dimension: string): object {
  return {
    type: "about:blank",
    title: "Bad Request",
    status: 400,
    detail: `The request lacks what the limit per "${dimension}" counts by.`,
  };
}
