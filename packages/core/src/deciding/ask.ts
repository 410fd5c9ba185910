import type { Decision, DecisionSource, LimitState } from "../base/decision.ts";
import { askedOf } from "../counting/costs.ts";
import { CountedDecision, withNamed } from "../counting/counted-decision.ts";
import type { CountedPolicy } from "../counting/counted-policy.ts";
import type { SubjectCounter } from "../counting/counters.ts";
import { present, readReply } from "../counting/read-reply.ts";
import { takePlaces } from "../places/keep-places.ts";
import type { PlaceKeeping } from "../places/taken-places.ts";
import type { DecideMode } from "../store/decide-call.ts";
import type { Answer, Ask } from "./link.ts";

const NOTHING: readonly never[] = [];

/** The record of a request. A cost of 0 is never charged, and never sets a block. */
export function makeAsk(
  counters: readonly SubjectCounter[],
  cost: number,
  mode: DecideMode,
  waitedMs = 0,
): Ask {
  const isNamed = counters[0]?.costs !== undefined;
  return {
    counters: isNamed ? askedOf(counters) : counters,
    named: isNamed ? counters : undefined,
    cost,
    mode: cost === 0 && mode !== "peek" ? "ask" : mode,
    waitedMs,
    places: undefined,
    holder: undefined,
    sent: 0,
    heed: undefined,
  };
}

/** Has a request take concurrency slots, if it is to be charged and its counters have some. */
export function askPlaces(ask: Ask, keeping: PlaceKeeping): void {
  if (ask.mode === "peek" || ask.mode === "ask") return;
  ask.places = takePlaces(keeping, ask.counters);
  ask.holder = ask.places?.holder;
}

/** The answer in a store's reply. Throws `HEADGATE_WRONG_TYPE`, `HEADGATE_BAD_REPLY`. */
export function readAnswer(counted: CountedPolicy, ask: Ask, reply: readonly number[]): Answer {
  const { counters, cost, mode, named } = ask;
  const { allowed, blocked, receipts, states } = readReply(counted, counters, cost, reply);
  const isWhole = named === undefined && counters.length === counted.groups.length;
  return {
    allowed,
    blocked,
    limits: isWhole ? (states as readonly LimitState[]) : present(states),
    receipts: allowed && mode !== "peek" ? receipts : NOTHING,
    lasting: allowed ? NOTHING : [{ counters, reply }],
  };
}

/** The decision that an answer is; if it admits, the slots it took are held from now on. */
export function decisionOf(
  counted: CountedPolicy,
  ask: Ask,
  { allowed, blocked, limits, receipts }: Omit<Answer, "lasting">,
  source: DecisionSource,
  retryAfterMs = 0,
): Decision {
  const places = allowed ? ask.places : undefined;
  places?.hold();
  const { cost, named } = ask;
  const terms = (named ?? ask.counters)[0]?.terms;
  const outcome = { allowed, blocked, limits, cost, source, receipts, places, retryAfterMs, terms };
  return new CountedDecision(counted, named === undefined ? outcome : withNamed(named, outcome));
}
