import type { LimitState } from "../../decision.ts";
import type { Receipt } from "../../store/refund.ts";
import type { Remote } from "../../store/store.ts";
import type { Counters } from "../counters.ts";
import type { StoreWatch } from "../outage/outage.ts";
import type { GroupUnit } from "../units.ts";

/** Where decisions are asked for, and how what they charged is given back. */
export interface AskedStore {
  readonly counters: Counters;
  readonly watch: StoreWatch;
  readonly remote: Remote;
  giveBack(receipts: readonly Receipt[]): Promise<unknown>;
}

/** What a store answered. */
export interface Answer {
  readonly allowed: boolean;
  readonly limits: readonly LimitState[];
  /** What was charged: one receipt for each slot. */
  readonly receipts: readonly Receipt[];
  /** The replies, when they deny for as long as they say; none when the request was allowed, or the denial may not last. */
  readonly lasting: readonly UnitsReply[];
}

/** A reply of decide.lua, and the units it is of. */
export interface UnitsReply {
  readonly units: readonly GroupUnit[];
  readonly reply: readonly number[];
}
