import type { Awaitable } from "../base/awaitable.ts";
import type { Decision } from "../base/decision.ts";
import { formatKind, HeadgateError } from "../base/errors.ts";
import type { CountedPolicy, Group } from "../counting/counted-policy.ts";
import type { Subjects } from "../counting/counters.ts";
import type { Flights } from "../deciding/flights.ts";
import type { LimiterControl } from "../fleet/control/control.ts";
import type { LimiterUsage } from "../fleet/usage/limiter-usage.ts";
import type { Turn, TurnOptions } from "../queue/line.ts";
import type { StoreWatch } from "../reach/outage.ts";
import type { ConsumeOptions, Limiter } from "./limiter.ts";
import type { OtherShapes } from "./other-shapes.ts";

/** Under this symbol, other parts and copies of Headgate find the parts of a limiter. */
export const LIMITER: unique symbol = Symbol.for("@headgate/core.limiter") as never;

/** How a limiter is seen by the rest of Headgate. */
export interface LimiterParts {
  readonly counted: CountedPolicy;
  /** What the limits are that calls bring, beside its own. */
  readonly shapes: Pick<OtherShapes, "isUsed" | "hasPlaces" | "keeps">;
  /** The limiter it extends. */
  readonly parent: Limiter | undefined;
  /**
   * `consume` for some of its groups only; it publishes nothing. The decision itself where this process knows it: then errors are thrown, not
   * rejected.
   */
  consumeIn(
    groups: readonly Group[],
    subject: Subjects,
    options: ConsumeOptions | undefined,
    learned?: Learned,
  ): Awaitable<Decision>;
  /** What operators did, as far as this process knows; undefined where the store has no control record. */
  readonly control: Pick<LimiterControl, "refresh" | "known"> | undefined;
  /** `consumeIn` that waits in line if it is denied. Undefined if nobody waits for the answer any more. */
  consumeInTurn(
    groups: readonly Group[],
    subject: Subjects,
    options: ConsumeOptions | undefined,
    turn: TurnOptions,
  ): Promise<Turn | undefined>;
  /** How its decisions are settled, also after `close`. */
  readonly charging: Pick<Limiter, "settle" | "refund">;
  /** The calls under way, for which `close` waits. */
  readonly flights: Flights;
  /** How its store is watched; undefined where the store is this process's memory. */
  readonly watch: StoreWatch | undefined;
  /** What its decisions are counted in, also those of `consumeIn` and `consumeInTurn` by who asks them; undefined where the store keeps no usage. */
  readonly usage: LimiterUsage | undefined;
  /** Whether it takes units ahead, which are of all its limits alike. */
  readonly hasLease: boolean;
  /** Whether it is in shadow, as far as that is known without a subject. */
  isInShadow(): Promise<boolean>;
  /** Whether `close` was called: its methods reject, and calls that began before are still decided. */
  readonly isClosed: boolean;
}

/**
 * A limiter that `createLimiter` made. `Limiter`, the public type, does not have the symbol: the compiler would take the same type
 * from another copy of the package, or from its other format, for a different one.
 */
export interface MadeLimiter<Dimension extends string = string> extends Limiter<Dimension> {
  readonly [LIMITER]: LimiterParts;
}

/** A limiter that any copy of Headgate made. Throws `HEADGATE_INVALID_OPTION` for anything else. */
export function requireMade(limiter: Limiter): MadeLimiter {
  partsOf(limiter);
  return limiter as MadeLimiter;
}

/** That a request has learned before its decision what operators did. */
export interface Learned {
  /** How long it waited for that. */
  readonly waitedMs: number;
  /** Whether that was just now, so that the decision need not ask again. */
  readonly isFresh: boolean;
}

/** The parts of a limiter that any copy of Headgate made. Throws `HEADGATE_INVALID_OPTION` for anything else. */
export function partsOf(limiter: unknown): LimiterParts {
  const parts =
    typeof limiter === "object" && limiter !== null
      ? (limiter as Partial<MadeLimiter>)[LIMITER]
      : undefined;
  if (parts !== undefined) return parts;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `a limiter made by createLimiter is needed, got ${formatKind(limiter)}`,
  );
}
