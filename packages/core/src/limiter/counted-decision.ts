import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { NEVER } from "../algorithms/exact.ts";
import type { Decision, DecisionSource, LimitState } from "../decision.ts";
import { bindingLimit } from "../decision.ts";
import { formatKind, HeadgateError } from "../errors.ts";
import type { Receipt } from "../store/refund.ts";
import { toMilliseconds } from "../time.ts";
import type { Counters, GroupUnit } from "./counters.ts";

/** How every copy of Headgate asks a decision for its receipt, which only the decision itself can read. */
const TAKE_RECEIPT = Symbol.for("@headgate/core.take-receipt");

/** A decision that the store took, and the receipt of what it charged. */
export class CountedDecision implements Decision {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetAfterMs: number;
  readonly limits: readonly LimitState[];
  readonly cost: number;
  readonly source: DecisionSource = "store";
  readonly degraded: boolean = false;
  /** The counters that were charged. */
  readonly #counters: Counters;
  /** Private, so that nobody can make one up; gone once it was used. */
  #receipt: Receipt | undefined;

  constructor(
    counters: Counters,
    allowed: boolean,
    limits: readonly LimitState[],
    cost: number,
    receipt: Receipt | undefined,
  ) {
    const binding = bindingLimit(limits, allowed);
    this.allowed = allowed;
    this.limit = binding.limit;
    this.remaining = binding.remaining;
    this.retryAfterMs = allowed ? 0 : binding.retryAfterMs;
    this.resetAfterMs = binding.resetAfterMs;
    this.limits = limits;
    this.cost = cost;
    this.#counters = counters;
    this.#receipt = receipt;
  }

  /** Takes the receipt out: it can be used once. Undefined when there is none; `false` when other counters were charged. */
  static takeReceipt(decision: CountedDecision, counters: Counters): Receipt | undefined | false {
    // What only inherits from a decision, or stands in for one, has no receipt of its own.
    if (!(#counters in decision) || !isPartOf(decision.#counters, counters)) return false;
    const receipt = decision.#receipt;
    decision.#receipt = undefined;
    return receipt;
  }
}

Object.defineProperty(CountedDecision.prototype, TAKE_RECEIPT, {
  value(this: CountedDecision, counters: Counters) {
    return CountedDecision.takeReceipt(this, counters);
  },
});

/** The receipt of a decision that any copy of Headgate made on these counters. Throws `HEADGATE_INVALID_DECISION`. */
export function takeReceipt(decision: unknown, counters: Counters): Receipt | undefined {
  const take: unknown =
    typeof decision === "object" && decision !== null
      ? (decision as Record<symbol, unknown>)[TAKE_RECEIPT]
      : undefined;
  const receipt =
    typeof take === "function"
      ? (take.call(decision, counters) as Receipt | undefined | false)
      : false;
  if (receipt !== false) return receipt;
  throw new HeadgateError(
    "HEADGATE_INVALID_DECISION",
    `refund takes a decision that this limiter made, got ${formatKind(decision)}`,
  );
}

/** Limiters of one name on one store are one, and one that extends another speaks for both. */
function isPartOf(charged: Counters, counters: Counters): boolean {
  if (charged === counters) return true;
  const own = counters.keyspace.split("&");
  return (
    charged.store.owner === counters.store.owner &&
    charged.keyspace.split("&").every((keyspace) => own.includes(keyspace))
  );
}

/** Reads the reply of decide.lua. Throws `HEADGATE_FOREIGN_KEY`, `HEADGATE_BAD_REPLY`. */
export function readDecision(
  counters: Counters,
  units: readonly GroupUnit[],
  cost: number,
  charge: boolean,
  reply: readonly number[],
): CountedDecision {
  rejectForeign(reply, units);
  const states: LimitState[] = new Array(counters.limits.length);
  const births: number[] = [];
  let at = 2;
  for (const { group } of units) {
    births.push(reply[at++] as number);
    for (let i = 0; i < group.limits.length; i += 1) {
      const limit = group.limits[i] as CompiledLimit;
      states[group.positions[i] as number] = readState(limit, reply, at);
      at += 4;
    }
  }
  if (reply.length !== at) {
    throw new HeadgateError(
      "HEADGATE_BAD_REPLY",
      `decide returned ${reply.length} numbers, not ${at}`,
    );
  }
  const allowed = reply[0] === 1;
  const receipt =
    allowed && charge ? { cost, charged: reply[1] as number, units, births } : undefined;
  // A dimension that was left out leaves a hole.
  return new CountedDecision(counters, allowed, states.filter(Boolean), cost, receipt);
}

function readState(limit: CompiledLimit, reply: readonly number[], at: number): LimitState {
  const wait = reply[at] as number;
  return {
    name: limit.name,
    per: limit.per,
    limit: limit.limit,
    windowMs: limit.windowMs,
    allowed: wait === 0,
    remaining: reply[at + 1] as number,
    retryAfterMs: wait === NEVER ? Number.POSITIVE_INFINITY : toMilliseconds(wait),
    resetAfterMs: toMilliseconds(reply[at + 2] as number),
    growsAfterMs: toMilliseconds(reply[at + 3] as number),
  };
}

/** Throws `HEADGATE_FOREIGN_KEY` when a step found something in a key that Headgate did not put there. */
export function rejectForeign(reply: readonly number[], units: readonly GroupUnit[]): void {
  if (reply[0] !== -1) return;
  throw new HeadgateError(
    "HEADGATE_FOREIGN_KEY",
    "a key of this subject holds a value that is not Headgate's: give the store another prefix, or delete the key (the cause names it)",
    { cause: { keys: units.map(({ key }) => key) } },
  );
}
