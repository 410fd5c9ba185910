import type { Cost, Decision, LimitState } from "@headgate/core";
import { isConcurrencyState } from "../oracle/slots.ts";
import { claim } from "./claim.ts";

/** The most units that a counter can hold. */
const MAX_UNITS = 2_000_000_000;

/** The reported wait when all slots are held. */
const RETRY_MS = 1_000;

/** Fails unless every field of a decision is in its range, and all of them agree with each other. */
export function claimInRange(decision: Decision, explain = () => ""): void {
  const { allowed, limit, remaining, retryAfterMs, resetAfterMs, limits } = decision;
  const explainRule = (rule: string) => () => `${rule}: ${JSON.stringify(decision)} ${explain()}`;
  for (const state of limits) claimStateInRange(state, decision, explainRule);
  const wouldAllow = limits.every((state) => state.allowed);
  const longest = Math.max(...limits.map((state) => state.retryAfterMs));
  claim(decision.wouldAllow === wouldAllow, explainRule("it allows if each limit allows"));
  claim(allowed === (wouldAllow || decision.shadow), explainRule("shadow mode denies no request"));
  claim(retryAfterMs === (allowed ? 0 : longest), explainRule("it reports the longest wait"));
  claim(!decision.degraded && isCost(decision.cost), explainRule("the store has decided"));
  claim(
    limits.some(
      (state) =>
        state.limit === limit &&
        state.remaining === remaining &&
        state.resetAfterMs === resetAfterMs,
    ),
    explainRule("the summary is that of one limit"),
  );
}

function claimStateInRange(
  state: LimitState,
  { cost: requestedCost, wouldAllow, source }: Decision,
  explainRule: (rule: string) => () => string,
): void {
  const { limit, remaining, overdrawn, retryAfterMs, resetAfterMs, refillAfterMs } = state;
  if (isConcurrencyState(state)) {
    claimSlotsInRange(state, requestedCost, explainRule);
    return;
  }
  const cost =
    typeof requestedCost === "number" ? requestedCost : (requestedCost[state.name] as number);
  claim(isIntegerIn(limit, 0, MAX_UNITS), explainRule("limit"));
  claim(isIntegerIn(remaining, 0, limit), explainRule("remaining"));
  claim(isIntegerIn(overdrawn, 0, MAX_UNITS), explainRule("overdrawn"));
  claim(remaining === 0 || overdrawn === 0, explainRule("an overdrawn limit has no units left"));
  claim(state.allowed === (retryAfterMs === 0), explainRule("only a denial has a wait"));
  claim(isIntegerIn(resetAfterMs, 0), explainRule("resetAfterMs"));
  claim(
    isIntegerIn(refillAfterMs, 0, resetAfterMs),
    explainRule("the refill comes before the reset"),
  );
  claim(resetAfterMs === 0 || refillAfterMs > 0, explainRule("a limit in use has a refill time"));
  claim(resetAfterMs > 0 || remaining === limit, explainRule("an unused limit has all its units"));
  // A peek of 0 units is never denied, and a lease was charged before later charges.
  const isPaid = cost === 0 || source === "lease";
  claim(!wouldAllow || isPaid || overdrawn === 0, explainRule("no request is admitted below zero"));
  if (state.allowed) return;
  claim(
    (retryAfterMs === Number.POSITIVE_INFINITY) === cost > limit,
    explainRule("only an impossible cost waits forever"),
  );
  claim(
    cost > limit || isIntegerIn(retryAfterMs, 1, resetAfterMs),
    explainRule("the wait ends by the reset"),
  );
  // The deny cache reports the state at the denial, with the time left.
  claim(cost > remaining || source === "deny-cache", explainRule("a cost that fits is not denied"));
}

function claimSlotsInRange(
  { name, limit, allowed, remaining, overdrawn, ...state }: LimitState,
  requestedCost: Cost,
  explainRule: (rule: string) => () => string,
): void {
  const { retryAfterMs, resetAfterMs, refillAfterMs } = state;
  const slots =
    typeof requestedCost === "number"
      ? Math.min(1, requestedCost)
      : (requestedCost[name] as number);
  claim(isIntegerIn(limit, 0, MAX_UNITS) && isIntegerIn(remaining, 0, limit), explainRule("slots"));
  claim(remaining === 0 || overdrawn === 0, explainRule("an overdrawn limit has no units left"));
  claim(allowed === (retryAfterMs === 0), explainRule("only a denial has a wait"));
  claim(refillAfterMs === resetAfterMs, explainRule("only a block has a reset time"));
  if (allowed) return;
  const isNever = retryAfterMs === Number.POSITIVE_INFINITY;
  claim(isNever === slots > limit, explainRule("only an impossible cost waits forever"));
  claim(
    isNever || retryAfterMs === Math.max(resetAfterMs, RETRY_MS) || retryAfterMs === resetAfterMs,
    explainRule("it is unknown when a slot is released"),
  );
}

/** Whether a cost has whole units, for all limits or by name. */
function isCost(cost: Cost): boolean {
  const units = typeof cost === "number" ? [cost] : Object.values(cost);
  return units.length > 0 && units.every((each) => isIntegerIn(each, 0));
}

function isIntegerIn(number: number, least: number, most = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isSafeInteger(number) && number >= least && number <= most;
}
