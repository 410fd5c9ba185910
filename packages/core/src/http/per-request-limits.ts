import type { Decision } from "../common/decision.ts";
import { codeOf, HeadgateError } from "../common/errors.ts";
import type { LimiterWithInternals } from "../limiter/limiter-internals.ts";
import type { SlotHandle } from "../policy/slot.ts";
import type { RequestContext } from "./request-context.ts";
import { isNodeResponse } from "./response/node-response.ts";
import { holdSlots } from "./response-lifetime.ts";
import type { RequestSubjects } from "./subject.ts";

/* A request's own limits, which may have another shape than those that its guard was created with. */

/** Whether a request lacks every subject that its own limits count by, so that it is not limited. */
export function hasNoSubject<Request>(
  { limits, subjects }: RequestContext<Request>,
  error: unknown,
): boolean {
  if (limits === undefined || codeOf(error) !== "HEADGATE_EMPTY_KEY") return false;
  return Object.values(subjects as RequestSubjects).includes(null);
}

/** Whether the limits of a decision have the same names as the limiter's own. */
export function hasSameNames({ limits }: LimiterWithInternals, decision: Decision): boolean {
  return decision.limits.every(({ name }, i) => name === limits[i]?.name);
}

/** Holds the slots of a request until its response ends. Throws `HEADGATE_INVALID_LIMIT` if the response cannot be watched. */
export function holdRequestSlots(
  owner: string,
  slots: SlotHandle | undefined,
  response: unknown,
): void {
  if (slots === undefined) return;
  if (isNodeResponse(response)) {
    holdSlots(slots, response);
    return;
  }
  // If the store is unavailable, they expire.
  slots.release().catch(() => {});
  throw new HeadgateError(
    "HEADGATE_INVALID_LIMIT",
    `${owner}: the limits of this request count slots, which are held until its response is over, but the adapter passes no response of Node's to check`,
  );
}

/** Throws `HEADGATE_INVALID_LIMIT` for limits that block in a guard with `wait`: a request that waits sets no block. */
export function rejectBlocksWithWait<Request>(
  owner: string,
  { limits }: RequestContext<Request>,
): void {
  const blocks = [limits].flat().some((limit) => limit && "block" in limit && limit.block);
  if (!blocks) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_LIMIT",
    `${owner}: the limits of this request have a block, which cannot be used with wait, because it is set at once`,
  );
}

/** Leaves out a customer's numbers, which an error handler might send to clients: they are in the cause. */
export function hideRequestLimits(owner: string, error: unknown): unknown {
  if (codeOf(error) !== "HEADGATE_INVALID_LIMIT") return error;
  return new HeadgateError(
    "HEADGATE_INVALID_LIMIT",
    `${owner}: the limits of this request are invalid; the cause says why`,
    { cause: error },
  );
}
