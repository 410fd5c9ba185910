import type { Decision } from "../common/decision.ts";
import { HeadgateError } from "../common/errors.ts";

/** A problem of RFC 9457, as draft-ietf-httpapi-ratelimit-headers-11 defines it for quotas and for reduced capacity. */
export interface QuotaProblem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** The names of the limits that denied. */
  readonly "violated-policies": readonly string[];
}

const PROBLEM_TYPES = "https://iana.org/assignments/http-problem-types";

/** The content type of a problem: RFC 9457. */
export const PROBLEM_JSON = "application/problem+json";

const QUOTA_EXCEEDED: QuotaProblem = {
  type: `${PROBLEM_TYPES}#quota-exceeded`,
  title: "Too Many Requests",
  status: 429,
  "violated-policies": [],
};

const REDUCED_CAPACITY: QuotaProblem = {
  type: `${PROBLEM_TYPES}#temporary-reduced-capacity`,
  title: "Service Unavailable",
  status: 503,
  "violated-policies": [],
};

/** The body of the response to a denied request. For a decision with the source `"deny"` it names no limits, because no limit decided. */
export function toProblem(decision: Decision): QuotaProblem {
  const violated = decision.limits.filter(({ allowed }) => !allowed).map(({ name }) => name);
  return { ...kindOf(decision), "violated-policies": violated };
}

/** The HTTP status of a denial: 429 or 503. */
export function statusOf(decision: Decision): number {
  return kindOf(decision).status;
}

/** `toProblem` as JSON. `names` are those of the limits, quoted. */
export function formatProblem(
  decision: Decision,
  names: readonly string[] = decision.limits.map(({ name }) => JSON.stringify(name)),
): string {
  const violated = names.filter((_, i) => decision.limits[i]?.allowed === false);
  return `${PROBLEM_PREFIXES.get(kindOf(decision))}${violated.join(",")}]}`;
}

function kindOf({ source }: Decision): QuotaProblem {
  return source === "deny" ? REDUCED_CAPACITY : QUOTA_EXCEEDED;
}

/** Each problem up to the names of its limits. */
const PROBLEM_PREFIXES = new Map(
  [QUOTA_EXCEEDED, REDUCED_CAPACITY].map((kind) => [kind, JSON.stringify(kind).slice(0, -2)]),
);

/** The body of the response to a request without its key. */
export function missingKeyProblem(dimension: string): object {
  return {
    type: "about:blank",
    title: "Bad Request",
    status: 400,
    detail: `The request lacks what the limit per "${dimension}" counts by.`,
  };
}

/** The body of the response to a client on a deny list. */
export const BLOCKED_PROBLEM = { type: "about:blank", title: "Forbidden", status: 403 } as const;

/** A denial as an error, for the framework's error handler (`onDenied: "error"`). The response's headers are already set. */
export class HeadgateDeniedError extends HeadgateError {
  override readonly name = "HeadgateDeniedError";
  /** The HTTP status: 429, or 503 if the store was unavailable and `onUnavailable` is `"deny"`. */
  readonly status: number;
  readonly statusCode: number;
  /** The message may be sent to the client: Koa and Nest 12 respond with the status of an error only if it says so. */
  readonly expose = true;
  readonly decision: Decision;

  constructor(decision: Decision) {
    const { status, title } = toProblem(decision);
    super("HEADGATE_DENIED", title);
    this.status = status;
    this.statusCode = status;
    this.decision = decision;
  }
}
