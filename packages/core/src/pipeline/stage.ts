import type { Decision } from "../common/decision.ts";
import type { HeadgateError } from "../common/errors.ts";
import type { Awaitable } from "../common/type-guards.ts";
import type { Counter } from "../operations/counter.ts";
import type { ThresholdReport } from "../operations/notify-thresholds.ts";
import type { SubjectCounter, Subjects } from "../policy/counters.ts";
import type { Operation } from "../store/store.ts";
import type { DecisionRequest } from "./decision-request.ts";

/*
 * How a decision travels. The limiter creates a `DecisionRequest` and passes it to the first stage of its chain. On Redis the
 * chain is lease stage (if the limiter leases) → redis stage, which looks into the deny cache first, and uses the fallback stage if
 * the store does not answer; in memory it is the memory stage alone. Each stage either decides or passes the request to the next
 * one. The last one sends it to the store, whose `StoreDecision` it turns into the `Decision` that the caller gets.
 */

/** A change of counters other than a decision: charge, refund, confirm, block, forget. */
export interface Mutation<Call = never, Reply = unknown> {
  readonly operation: Operation<Call, Reply>;
  readonly counters: readonly Counter[];
  /** Creates the call for some of the counters: those in one hash slot. */
  callOf(counters: readonly Counter[]): Call;
  /** Whether the leases of the counters end, so that no leased unit is spent any more. */
  readonly endsLeases?: boolean;
  /** Whether units may come back, so that calls that wait for the counters in this process try again. */
  readonly givesRoom?: boolean;
  /** The thresholds that a reply reports; undefined if none of the counters notifies. */
  readonly thresholdsOf?: ((reply: Reply) => readonly ThresholdReport[]) | undefined;
}

/** The result of a mutation in one hash slot: the reply, or the error. */
export type MutationResult<Reply> =
  | { readonly counters: readonly Counter[]; readonly reply: Reply }
  | { readonly counters: readonly Counter[]; readonly error: unknown };

/** One stage of the chain that decides. It decides a request, or passes it to the next stage, the only other one it knows. */
export interface Stage {
  decide(request: DecisionRequest): Awaitable<Decision>;
  /** Carries out a mutation, in all hash slots concurrently. Never rejects. */
  mutate<Call, Reply>(mutation: Mutation<Call, Reply>): Promise<readonly MutationResult<Reply>[]>;
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
