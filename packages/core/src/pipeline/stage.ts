import type { Decision, LimitState } from "../common/decision.ts";
import type { HeadgateError } from "../common/errors.ts";
import type { Awaitable } from "../common/type-guards.ts";
import type { Counter } from "../operations/counter.ts";
import type { DecideCall } from "../operations/decide-call.ts";
import type { Receipt } from "../operations/refund.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter, Subjects } from "../policy/counters.ts";
import type { HeldSlots } from "../slots/held-slots.ts";
import type { Operation } from "../store/store.ts";

/*
 * How a decision travels. The limiter creates a `DecisionRequest` and passes it to the first stage of its chain. On Redis the
 * chain is lease stage (if the limiter leases) → deny-cache stage → redis stage, which uses the fallback stage if the store does
 * not answer; in memory it is the memory stage alone. Each stage either decides or passes the request to the next one. The last
 * one sends it to the store, decodes the reply to a `StoreDecision`, and turns that into the `Decision` that the caller gets.
 */

/** A request for a decision: one record, created once, that all stages and the store share. */
export interface DecisionRequest extends DecideCall {
  /** The limiter's own policy, or one passed with the call. */
  readonly policy: CompiledPolicy;
  /** The counters to decide on. Counters that a cost by name excludes are in `allCounters` only. */
  readonly counters: readonly SubjectCounter[];
  /** With a cost by name, all counters, including excluded ones; otherwise undefined. */
  readonly allCounters: readonly SubjectCounter[] | undefined;
  /** How much of `storeTimeout` the request has used already, by reading the control record, in milliseconds. */
  readonly usedTimeoutMs: number;
  /** The concurrency slots that the request takes if it is allowed; undefined if it takes none. */
  slots: HeldSlots | undefined;
  /** The holder's id of these slots. */
  holder: string | undefined;
  /** When the request was sent to the store, in microseconds of `store.now()`; set by the deny-cache stage. */
  sentAt: number;
  /** Called with the store's decision before the caller gets it; set by the deny-cache stage. */
  onDecision: ((request: DecisionRequest, storeDecision: StoreDecision) => void) | undefined;
}

/** The store's reply to a request, decoded. */
export interface StoreDecision {
  readonly allowed: boolean;
  /** Whether a block denied the request. */
  readonly blocked: boolean;
  readonly limits: readonly LimitState[];
  /** The receipts for the charges: one for each hash slot of a cluster. */
  readonly receipts: readonly Receipt[];
  /**
   * The replies that the deny cache may use until the waits in them are over. Empty if the request was allowed, or if the denial
   * may end earlier.
   */
  readonly cacheableReplies: readonly CountersReply[];
}

/** A reply, and the counters that were in its call. */
export interface CountersReply {
  readonly counters: readonly SubjectCounter[];
  readonly reply: readonly number[];
}

/** A change of counters other than a decision: charge, refund, confirm, block, forget. */
export interface Mutation<Call = never> {
  readonly operation: Operation<Call>;
  readonly counters: readonly Counter[];
  /** Creates the call for some of the counters: those in one hash slot. */
  callOf(counters: readonly Counter[]): Call;
  /** Whether the leases of the counters end, so that no leased unit is spent any more. */
  readonly endsLeases?: boolean;
  /** The index at which the reply reports thresholds; undefined if it reports none. */
  readonly thresholdsAt?: number | undefined;
}

/** The result of a mutation in one hash slot: the reply, or the error. */
export type MutationResult<C extends Counter = Counter> =
  | { readonly counters: readonly C[]; readonly reply: readonly number[] }
  | { readonly counters: readonly C[]; readonly error: unknown };

/** One stage of the chain that decides. It decides a request, or passes it to the next stage, the only other one it knows. */
export interface Stage {
  decide(request: DecisionRequest): Awaitable<Decision>;
  /** Carries out a mutation, in all hash slots concurrently. Never rejects. */
  mutate<Call>(mutation: Mutation<Call>): Promise<readonly MutationResult[]>;
  /** Decides without a promise and without counters if a lease of this process can pay the cost; otherwise returns undefined. */
  admitFromLease?(subject: Subjects, cost: number): Decision | undefined;
  /** Ends the leases of the counters for which `matches` returns true, and refunds their units. */
  endLeases?(matches: (counter: SubjectCounter) => boolean): void;
  /** Refunds all leased units and releases shared resources. */
  close(): Promise<void>;
}

/** Published on `headgate:decision:degraded`. */
export interface DegradedDecision {
  /** The limiter's name. */
  readonly limiter: string;
  readonly decision: Decision;
  /** Why the store did not decide, identified by `code`. */
  readonly reason: HeadgateError;
}
