import type { LimitState } from "../../decision.ts";
import type { Receipt } from "../../store/refund.ts";
import type { Remote } from "../../store/store.ts";
import type { CountedPolicy } from "../counted-policy.ts";
import type { SubjectCounter } from "../counters.ts";
import type { StoreWatch } from "../outage/outage.ts";

/** Where decisions are asked for, and how what they charged is given back. */
export interface AskedStore {
  readonly counted: CountedPolicy;
  readonly watch: StoreWatch;
  readonly remote: Remote;
  giveBack(receipts: readonly Receipt[]): Promise<unknown>;
}

/** What a store answered. */
export interface Answer {
  readonly allowed: boolean;
  /** Whether a block denied. */
  readonly blocked: boolean;
  readonly limits: readonly LimitState[];
  /** What was charged: one receipt for each slot. */
  readonly receipts: readonly Receipt[];
  /** The replies, when they deny for as long as they say; none when the request was allowed, or the denial may not last. */
  readonly lasting: readonly CountersReply[];
}

/** The reply to a decision, and the counters it is of. */
export interface CountersReply {
  readonly counters: readonly SubjectCounter[];
  readonly reply: readonly number[];
}
