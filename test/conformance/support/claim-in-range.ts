import type { Cost, Decision, LimitState } from "@headgate/core";
import { isOfPlaces } from "../oracle/slots.ts";
import { claim } from "./claim.ts";

/** So many units can be held of a limit. */
const MOST = 2_000_000_000;

/** Whoever finds no place is told to come again after a second. */
const RETRY_MS = 1_000;

/** Fails unless every field of a decision is in its range, and all of them agree with each other. */
export function claimInRange(decision: Decision, explain = () => ""): void {
  const { allowed, limit, remaining, retryAfterMs, resetAfterMs, limits } = decision;
  const says = (rule: string) => () => `${rule}: ${JSON.stringify(decision)} ${explain()}`;
  for (const state of limits) claimStateInRange(state, decision, says);
  const wouldAllow = limits.every((state) => state.allowed);
  const longest = Math.max(...limits.map((state) => state.retryAfterMs));
  claim(decision.wouldAllow === wouldAllow, says("it allows as its limits do"));
  claim(allowed === (wouldAllow || decision.shadow), says("shadow denies nobody"));
  claim(retryAfterMs === (allowed ? 0 : longest), says("it waits for the longest"));
  claim(!decision.degraded && isCost(decision.cost), says("the store has answered"));
  claim(
    limits.some(
      (state) =>
        state.limit === limit &&
        state.remaining === remaining &&
        state.resetAfterMs === resetAfterMs,
    ),
    says("one of the limits speaks for all"),
  );
}

function claimStateInRange(
  state: LimitState,
  { cost: asked, wouldAllow, source }: Decision,
  says: (rule: string) => () => string,
): void {
  const { limit, remaining, overdrawn, retryAfterMs, resetAfterMs, refillAfterMs } = state;
  if (isOfPlaces(state)) {
    claimPlacesInRange(state, asked, says);
    return;
  }
  const cost = typeof asked === "number" ? asked : (asked[state.name] as number);
  claim(isWhole(limit, 0, MOST), says("limit"));
  claim(isWhole(remaining, 0, limit), says("remaining"));
  claim(isWhole(overdrawn, 0, MOST), says("overdrawn"));
  claim(remaining === 0 || overdrawn === 0, says("who is overdrawn has nothing left"));
  claim(state.allowed === (retryAfterMs === 0), says("who waits is denied"));
  claim(isWhole(resetAfterMs, 0), says("resetAfterMs"));
  claim(isWhole(refillAfterMs, 0, resetAfterMs), says("it grows before it is unused"));
  claim(resetAfterMs === 0 || refillAfterMs > 0, says("what is used will grow"));
  claim(resetAfterMs > 0 || remaining === limit, says("what is unused is all there"));
  // What is looked at with a cost of 0 is never denied, and what a lease pays was charged before others were.
  const isPaid = cost === 0 || source === "lease";
  claim(!wouldAllow || isPaid || overdrawn === 0, says("nobody is admitted below zero"));
  if (state.allowed) return;
  claim((retryAfterMs === Number.POSITIVE_INFINITY) === cost > limit, says("what never fits"));
  claim(cost > limit || isWhole(retryAfterMs, 1, resetAfterMs), says("it waits at most for all"));
  // What is remembered is reported as it was, with the time that is left.
  claim(cost > remaining || source === "deny-cache", says("what fits is not denied"));
}

function claimPlacesInRange(
  { name, limit, allowed, remaining, overdrawn, ...state }: LimitState,
  asked: Cost,
  says: (rule: string) => () => string,
): void {
  const { retryAfterMs, resetAfterMs, refillAfterMs } = state;
  const places = typeof asked === "number" ? Math.min(1, asked) : (asked[name] as number);
  claim(isWhole(limit, 0, MOST) && isWhole(remaining, 0, limit), says("places"));
  claim(remaining === 0 || overdrawn === 0, says("who is overdrawn has nothing left"));
  claim(allowed === (retryAfterMs === 0), says("who waits is denied"));
  claim(refillAfterMs === resetAfterMs, says("only a block tells when it ends"));
  if (allowed) return;
  const isNever = retryAfterMs === Number.POSITIVE_INFINITY;
  claim(isNever === places > limit, says("what never fits"));
  claim(
    isNever || retryAfterMs === Math.max(resetAfterMs, RETRY_MS) || retryAfterMs === resetAfterMs,
    says("nobody knows when a place comes free"),
  );
}

/** Whole units, for all limits or by their names. */
function isCost(cost: Cost): boolean {
  const units = typeof cost === "number" ? [cost] : Object.values(cost);
  return units.length > 0 && units.every((each) => isWhole(each, 0));
}

function isWhole(number: number, least: number, most = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isSafeInteger(number) && number >= least && number <= most;
}
