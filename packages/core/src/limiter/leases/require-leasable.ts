import { formatReceived, HeadgateError } from "../../errors.ts";
import type { CountedPolicy } from "../counted-policy.ts";

/** Throws `HEADGATE_INVALID_OPTION` for limits whose units cannot be taken ahead. */
export function requireLeasable({ limits, groups, hasPlaces }: CountedPolicy): void {
  // A place is held by one request.
  if (hasPlaces) {
    throw invalid(
      "lease takes units ahead, and a concurrency limit has none: leave one of them out",
    );
  }
  // Units that are taken ahead of one subject say nothing of what another one, of the same request, allows.
  if (groups.length > 1) {
    throw invalid(
      `lease is for limits of one dimension in a limiter that extends none; these count by ${groups.map(({ dimension }) => dimension).join(", ")}`,
    );
  }
  // Units that were taken ahead would be spent by who is blocked.
  const blocking = limits.find(({ block }) => block !== undefined);
  if (blocking !== undefined) {
    throw invalid(
      `lease takes units ahead, which a block would come too late for; the limit ${formatReceived(blocking.name)} has block`,
    );
  }
}

function invalid(message: string): HeadgateError {
  return new HeadgateError("HEADGATE_INVALID_OPTION", message);
}
