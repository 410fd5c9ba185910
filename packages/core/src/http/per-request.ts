import { formatKind, formatReceived, HeadgateError } from "../errors.ts";
import type { Policy } from "../policy.ts";

/** Limits whose numbers depend on the request, as `perRequest` returns them: a base, and a function that gives the numbers. */
export interface RequestPolicy<Request = never, Per extends string = string> {
  readonly base: Policy<Per>;
  readonly limitsOf: (request: Request) => Policy<Per> | null | Promise<Policy<Per> | null>;
}

/**
 * Takes the numbers of limits from the request: `perRequest(gcra({ limit: 30, window: "1m" }), (req) => req.customer.limits)`.
 * The base sets algorithms, windows, dimensions and names; the function returns the same limits with other numbers of units, or
 * null for a request that is not limited, or a promise of either. Counts stay when the numbers change.
 *
 * Anything else that it returns is an error passed to the framework, `HEADGATE_INVALID_LIMIT`, never an unlimited request.
 * Throws `HEADGATE_INVALID_OPTION`; the base is checked when the limiter is made.
 */
export function perRequest<const Per extends string = never, Request = never>(
  base: Policy<Per>,
  limitsOf: (
    request: Request,
  ) => Policy<NoInfer<Per>> | null | Promise<Policy<NoInfer<Per>> | null>,
): RequestPolicy<Request, Per> {
  const policy = { base, limitsOf };
  requireLimitsOf(policy);
  return policy;
}

/** Throws `HEADGATE_INVALID_OPTION` if there is no function that gives a request's limits. */
export function requireLimitsOf({ limitsOf }: RequestPolicy): void {
  if (typeof limitsOf === "function") return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `perRequest: the second argument must be a function that returns a request's limits, got ${formatReceived(limitsOf)}`,
  );
}

export function isRequestPolicy(limits: unknown): limits is RequestPolicy {
  return typeof limits === "object" && limits !== null && "limitsOf" in limits;
}

/** What the function returned, if it can be limits; the limiter checks the rest. Throws `HEADGATE_INVALID_LIMIT`. */
export function readLimits(owner: string, returned: unknown): Policy | null {
  if (typeof returned === "object") return returned as Policy | null;
  throw new HeadgateError(
    "HEADGATE_INVALID_LIMIT",
    `${owner}: the function of perRequest must return limits, or null for a request that is not limited, got ${formatKind(returned)}`,
    { cause: returned },
  );
}
