import type { Awaitable } from "../base/awaitable.ts";
import type { Decision, LimitState } from "../base/decision.ts";
import type { HeadgateError } from "../base/errors.ts";
import type { CountedPolicy } from "../counting/counted-policy.ts";
import type { SubjectCounter, Subjects } from "../counting/counters.ts";
import type { TakenPlaces } from "../places/taken-places.ts";
import type { Counter } from "../store/counter.ts";
import type { DecideCall } from "../store/decide-call.ts";
import type { Receipt } from "../store/refund.ts";
import type { Step } from "../store/store.ts";

/** A request for a decision: one record, made once, that every link and the store see. */
export interface Ask extends DecideCall {
  /** The policy in force: the limiter's own, or one that the call brought. */
  readonly counted: CountedPolicy;
  /** The counters to ask: those that a cost by name leaves out are only in `named`. */
  readonly counters: readonly SubjectCounter[];
  /** With a cost by name, all counters; otherwise undefined. */
  readonly named: readonly SubjectCounter[] | undefined;
  /** Milliseconds of `storeTimeout` that have passed already. */
  readonly waitedMs: number;
  /** The concurrency slots that it takes if it is admitted. */
  places: TakenPlaces | undefined;
  holder: string | undefined;
  /** When it was sent to the store, in microseconds of `store.now()`. */
  sent: number;
  /** Called with the store's answer, before the decision is made of it. */
  heed: ((ask: Ask, answer: Answer) => void) | undefined;
}

/** What a store answered. */
export interface Answer {
  readonly allowed: boolean;
  /** Whether a block denied. */
  readonly blocked: boolean;
  readonly limits: readonly LimitState[];
  /** What was charged: one receipt for each cluster slot. */
  readonly receipts: readonly Receipt[];
  /** The replies of a denial that lasts as long as they say; none if the request was allowed, or the denial may end earlier. */
  readonly lasting: readonly CountersReply[];
}

/** The reply to a decision, and its counters. */
export interface CountersReply {
  readonly counters: readonly SubjectCounter[];
  readonly reply: readonly number[];
}

/** A change of counters that is no decision: charge, refund, judge, block, forget. */
export interface Change<Call = never> {
  readonly step: Step<Call>;
  readonly counters: readonly Counter[];
  /** The call for some of the counters: those that are in one cluster slot. */
  callOf(counters: readonly Counter[]): Call;
  /** Whether units of the counters that are held ahead must not be spent any more. */
  readonly endsLeases?: boolean;
}

/** What became of a change in one cluster slot: the reply of its step, or the error. */
export type Outcome<C extends Counter = Counter> =
  | { readonly counters: readonly C[]; readonly reply: readonly number[] }
  | { readonly counters: readonly C[]; readonly error: unknown };

/** One link of the chain that decides: it answers a request, or hands it to the next link, which is all it knows. */
export interface Link {
  decide(ask: Ask): Awaitable<Decision>;
  /** Makes a change, in each cluster slot at once. Never rejects. */
  change<Call>(change: Change<Call>): Promise<readonly Outcome[]>;
  /** Admits without a promise and without counters, if this process holds units of the subject. */
  admit?(subject: Subjects, cost: number): Decision | undefined;
  /** Gives back the units held ahead for some counters. */
  endLeases?(isOver: (counter: SubjectCounter) => boolean): void;
  /** Gives back what it holds, and frees what it shares with others. */
  close(): Promise<void>;
}

/** Published on `headgate:decision:degraded`. */
export interface DegradedDecision {
  /** The limiter's name. */
  readonly limiter: string;
  readonly decision: Decision;
  /** Why the store did not decide, known by its `code`. */
  readonly reason: HeadgateError;
}
