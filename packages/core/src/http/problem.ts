import type { Decision } from "../decision.ts";

/** A problem of RFC 9457, as draft-ietf-httpapi-ratelimit-headers-11 defines it for quotas. */
export interface QuotaProblem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** The names of the limits that denied. */
  readonly "violated-policies": readonly string[];
}

const PROBLEM_TYPES = "https://iana.org/assignments/http-problem-types";

export const PROBLEM_JSON = "application/problem+json";

/** The body of the answer to a denied request. */
export function toProblem(decision: Decision): QuotaProblem {
  return {
    type: `${PROBLEM_TYPES}#quota-exceeded`,
    title: "Too Many Requests",
    status: 429,
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
