import type { ChargeResult, Cost } from "../common/cost.ts";
import { joinChargeResults } from "../common/cost.ts";
import type { Awaitable } from "../common/type-guards.ts";
import { charge } from "../operations/charge.ts";
import type { Confirmation } from "../operations/confirm.ts";
import { confirm } from "../operations/confirm.ts";
import type { Counter } from "../operations/counter.ts";
import { hasCostsByName } from "../operations/counter.ts";
import type { Receipt } from "../operations/refund.ts";
import { receiptFor, refund } from "../operations/refund.ts";
import { reset } from "../operations/reset.ts";
import type { BlockCall } from "../operations/set-block.ts";
import { block } from "../operations/set-block.ts";
import { readChargeResult } from "../policy/costs.ts";
import type { Operation } from "../store/store.ts";
import type { Mutation, MutationResult, Stage } from "./stage.ts";

/** The mutation that refunds a charge. */
export function refundMutation(receipt: Receipt): Mutation<Receipt, boolean> {
  return mutationOf(refund, receipt, true);
}

/** The mutation that confirms a charge, for limits that block on confirmed charges. */
export function confirmMutation(confirmation: Confirmation): Mutation<Confirmation, boolean> {
  return mutationOf(confirm, confirmation, false);
}

function mutationOf<R extends Receipt>(
  operation: Operation<R, boolean>,
  receipt: R,
  givesRoom: boolean,
): Mutation<R, boolean> {
  const { counters } = receipt;
  return { operation, counters, callOf: (some) => receiptFor(receipt, some), givesRoom };
}

/**
 * Blocks counters for some microseconds; 0 ends their blocks. Resolves with true if a block was set or ended. Rejects with the
 * store's errors.
 */
export function blockCounters(
  stage: Stage,
  counters: readonly Counter[],
  duration: number,
): Promise<boolean> {
  const callOf = (some: readonly Counter[]): BlockCall => ({ counters: some, duration });
  const givesRoom = duration === 0;
  return applyMutations(stage, [
    { operation: block, counters, callOf, endsLeases: true, givesRoom },
  ]);
}

/**
 * Forgets counters, but not their manual blocks. Resolves with true if there was anything to forget. Rejects with the store's
 * errors.
 */
export function forgetCounters(stage: Stage, counters: readonly Counter[]): Promise<boolean> {
  return applyMutations(stage, [
    { operation: reset, counters, callOf: (some) => some, endsLeases: true, givesRoom: true },
  ]);
}

/** Carries out mutations concurrently. Resolves with true if any of them changed something. Rejects with the first error. */
export async function applyMutations<Call>(
  stage: Stage,
  mutations: readonly Mutation<Call, boolean>[],
): Promise<boolean> {
  const results = await Promise.all(mutations.map((mutation) => stage.mutate(mutation)));
  return results.flat().map(replyOf).includes(true);
}

function replyOf<Reply>(result: MutationResult<Reply>): Reply {
  if ("error" in result) throw result.error;
  return result.reply;
}

/**
 * Charges counters regardless of the remaining units. `alreadyCharged` are the units already charged for the same request.
 * `onError` gives the result for counters whose hash slot failed.
 */
export async function chargeCounters(
  stage: Stage,
  counters: readonly Counter[],
  cost: number,
  alreadyCharged: number,
  onError: (counters: readonly Counter[], error: unknown) => Awaitable<ChargeResult<Cost>>,
): Promise<ChargeResult<Cost>> {
  // By name, each counter needs its own call, because limits of several counters may have the same name.
  const groups = hasCostsByName(counters) ? counters.map((one) => [one]) : [counters];
  const results = await Promise.all(
    groups.map((some) =>
      stage.mutate({
        operation: charge,
        counters: some,
        callOf: (own) => ({ cost, alreadyCharged, counters: own }),
        thresholdsOf: some.some(({ notifyingLimits }) => notifyingLimits.length > 0)
          ? ({ thresholds }) => thresholds
          : undefined,
      }),
    ),
  );
  const charged = results
    .flat()
    .map(async (result) =>
      "error" in result
        ? onError(result.counters, result.error)
        : readChargeResult(result.counters, cost, result.reply.units),
    );
  return joinChargeResults(await Promise.all(charged));
}
