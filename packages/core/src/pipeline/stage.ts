import type { Awaitable } from "../common/awaitable.ts";
import type { Decision, LimitState } from "../common/decision.ts";
import type { HeadgateError } from "../common/errors.ts";
import type { Counter } from "../operations/counter.ts";
import type { DecideCall } from "../operations/decide-call.ts";
import type { Receipt } from "../operations/refund.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter, Subjects } from "../policy/counters.ts";
import type { HeldSlots } from "../slots/held-slots.ts";
import type { Operation } from "../store/store.ts";

/** A request for a decision: one record, created once, that every link and the store see. */
export interface DecisionRequest extends DecideCall {
  /** The policy in force: the limiter's own, or one passed with the call. */
  readonly policy: CompiledPolicy;
  /** The counters to ask. Counters left out by a cost by name are only in `named`. */
  readonly counters: readonly SubjectCounter[];
  /** With a cost by name, all counters; otherwise undefined. */
  readonly allCounters: readonly SubjectCounter[] | undefined;
  /** How much of `storeTimeout` has passed already, in milliseconds. */
  readonly waitedMs: number;
  /** The concurrency slots that it takes if admitted. */
  slots: HeldSlots | undefined;
  holder: string | undefined;
  /** When it was sent to the store, in microseconds of `store.now()`. */
  sentAt: number;
  /** Called with the store's answer, before it becomes a decision. */
  onDecision: ((request: DecisionRequest, answer: StoreDecision) => void) | undefined;
}

/** A store's answer. */
export interface StoreDecision {
  readonly allowed: boolean;
  /** Whether a block denied the request. */
  readonly blocked: boolean;
  readonly limits: readonly LimitState[];
  /** The receipts for the charges: one for each hash slot of a cluster. */
  readonly receipts: readonly Receipt[];
  /**
   * The replies of a denial that stays valid for as long as they say; empty if the request was allowed, or if the denial may
   * end earlier.
   */
  readonly cacheableReplies: readonly CountersReply[];
}

/** The reply to a decision, and its counters. */
export interface CountersReply {
  readonly counters: readonly SubjectCounter[];
  readonly reply: readonly number[];
}

/** A change of counters other than a decision: charge, refund, judge, block, forget. */
export interface Mutation<Call = never> {
  readonly operation: Operation<Call>;
  readonly counters: readonly Counter[];
  /** The call for some of the counters: those in one hash slot. */
  callOf(counters: readonly Counter[]): Call;
  /** Whether leased units of the counters must not be spent any more. */
  readonly endsLeases?: boolean;
  /** Where its reply reports thresholds; undefined for a change that reports none. */
  readonly thresholdsAt?: number | undefined;
}

/** The result of a change in one hash slot: the reply of its step, or the error. */
export type MutationResult<C extends Counter = Counter> =
  | { readonly counters: readonly C[]; readonly reply: readonly number[] }
  | { readonly counters: readonly C[]; readonly error: unknown };

/** One link of the decision chain. It answers a request or passes it to the next link, the only other one that it knows. */
export interface Stage {
  decide(request: DecisionRequest): Awaitable<Decision>;
  /** Makes a change, in all hash slots concurrently. Never rejects. */
  mutate<Call>(mutation: Mutation<Call>): Promise<readonly MutationResult[]>;
  /** Admits without a promise or counters, if this process holds leased units for the subject. */
  admitFromLease?(subject: Subjects, cost: number): Decision | undefined;
  /** Refunds the leased units of some counters. */
  endLeases?(isOver: (counter: SubjectCounter) => boolean): void;
  /** Refunds what it holds, and frees what it shares with others. */
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
