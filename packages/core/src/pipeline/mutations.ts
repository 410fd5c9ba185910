import type { Awaitable } from "../common/awaitable.ts";
import type { ChargeResult } from "../common/charge-result.ts";
import { joinChargeResults } from "../common/charge-result.ts";
import type { Cost } from "../common/cost.ts";
import { charge, unitCountOf } from "../operations/charge.ts";
import type { Confirmation } from "../operations/confirm.ts";
import { confirm } from "../operations/confirm.ts";
import type { Counter } from "../operations/counter.ts";
import { hasCostsByName } from "../operations/counter.ts";
import type { BlockCall } from "../operations/manual-block.ts";
import { block } from "../operations/manual-block.ts";
import type { Receipt } from "../operations/refund.ts";
import { receiptFor, refund } from "../operations/refund.ts";
import { reset } from "../operations/reset.ts";
import { readChargeResult } from "../policy/costs.ts";
import type { Operation } from "../store/store.ts";
import type { Mutation, MutationResult, Stage } from "./stage.ts";

/** Refunds a charge. */
export function refundMutation(receipt: Receipt): Mutation<Receipt> {
  return mutationOf(refund, receipt);
}

/** Confirms a charge, for limits that block on confirmed charges. */
export function confirmMutation(confirmation: Confirmation): Mutation<Confirmation> {
  return mutationOf(confirm, confirmation);
}

function mutationOf<R extends Receipt>(operation: Operation<R>, receipt: R): Mutation<R> {
  return { operation, counters: receipt.counters, callOf: (some) => receiptFor(receipt, some) };
}

/**
 * Blocks counters for this many microseconds; 0 ends their blocks. True if one was blocked, or had been. Rejects like the
 * store.
 */
export function blockCounters(
  stage: Stage,
  counters: readonly Counter[],
  duration: number,
): Promise<boolean> {
  const callOf = (some: readonly Counter[]): BlockCall => ({ counters: some, duration });
  return applyMutations(stage, [{ operation: block, counters, callOf, endsLeases: true }]);
}

/** Forgets counters, but not blocks set by an operator. True if there was anything to forget. Rejects like the store. */
export function forgetCounters(stage: Stage, counters: readonly Counter[]): Promise<boolean> {
  return applyMutations(stage, [
    { operation: reset, counters, callOf: (some) => some, endsLeases: true },
  ]);
}

/** Makes changes concurrently. True if any of them did something. Rejects with the first error. */
export async function applyMutations<Call>(
  stage: Stage,
  changes: readonly Mutation<Call>[],
): Promise<boolean> {
  const outcomes = await Promise.all(changes.map((mutation) => stage.mutate(mutation)));
  return outcomes
    .flat()
    .map(replyOf)
    .some((reply) => reply[1] === 1);
}

function replyOf(result: MutationResult): readonly number[] {
  if ("error" in result) throw result.error;
  return result.reply;
}

/** Charges counters regardless of how much is left. `beside`: units already charged to the same request. */
export async function chargeCounters(
  stage: Stage,
  counters: readonly Counter[],
  cost: number,
  alreadyCharged: number,
  onError: (counters: readonly Counter[], error: unknown) => Awaitable<ChargeResult<Cost>>,
): Promise<ChargeResult<Cost>> {
  // A reply by name covers one counter's limits: names do not tell several counters apart.
  const groups = hasCostsByName(counters) ? counters.map((one) => [one]) : [counters];
  const outcomes = await Promise.all(
    groups.map((some) =>
      stage.mutate({
        operation: charge,
        counters: some,
        callOf: (own) => ({ cost, alreadyCharged, counters: own }),
        thresholdsAt: some.some(({ notifyingLimits }) => notifyingLimits.length > 0)
          ? 1 + unitCountOf(some)
          : undefined,
      }),
    ),
  );
  const charged = outcomes
    .flat()
    .map(async (result) =>
      "error" in result
        ? onError(result.counters, result.error)
        : readChargeResult(result.counters, cost, result.reply),
    );
  return joinChargeResults(await Promise.all(charged));
}
