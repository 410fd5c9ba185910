import type { LimitState } from "../common/decision.ts";
import { HeadgateError } from "../common/errors.ts";
import type { StoreMonitor } from "../health/store-monitor.ts";
import type { Counter } from "../operations/counter.ts";
import { operationFor } from "../operations/decide.ts";
import type { DecideCall, DecideMode } from "../operations/decide-call.ts";
import { isCharging } from "../operations/decide-call.ts";
import type { Receipt } from "../operations/refund.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import type { ScriptTransport } from "../store/store.ts";
import type { DecodedReply } from "./decode-reply.ts";
import { decodeReply, removeHoles } from "./decode-reply.ts";
import type { CountersReply, DecisionRequest, StoreDecision } from "./stage.ts";

/** The counters by hash slot: those of one hash slot can go in one call. */
export function groupByHashSlot<C extends Counter>(
  counters: readonly C[],
  transport: ScriptTransport,
): readonly (readonly C[])[] {
  if (counters.length === 1) return [counters];
  const groups = new Map<number, C[]>();
  for (const counter of counters) {
    const hashSlot = transport.hashSlotOf(counter.key);
    const group = groups.get(hashSlot);
    if (group === undefined) groups.set(hashSlot, [counter]);
    else group.push(counter);
  }
  return [...groups.values()];
}

/** The counters by hash slot if a call with all of them was refused because they are in several; otherwise undefined. */
export function regroupByHashSlot<C extends Counter>(
  error: unknown,
  counters: readonly C[],
  transport: ScriptTransport,
): readonly (readonly C[])[] | undefined {
  if (!transport.isCrossSlotError(error)) return undefined;
  const groups = groupByHashSlot(counters, transport);
  return groups.length > 1 ? groups : undefined;
}

/** The dependencies of a cross-slot decision: how it calls the hash slots, and how it undoes charges. */
export interface CrossSlotDeps {
  readonly policy: CompiledPolicy;
  readonly monitor: StoreMonitor;
  readonly transport: ScriptTransport;
  refund(receipt: Receipt): Promise<unknown>;
  /**
   * Called when a call that timed out is answered or fails: releases its concurrency slots, and publishes the thresholds that it
   * reached.
   */
  onLateReply(call: DecideCall, reply: LateReply): void;
}

/** The reply to a call that timed out; undefined if the call failed. */
export type LateReply = readonly number[] | undefined;

type HashSlotReply = DecodedReply & CountersReply;

/**
 * One decision on counters in several hash slots of a cluster, which a single call cannot cover.
 *
 * In the first round, all hash slots are checked concurrently. A denial there is final and charges nothing; if a limit that denied
 * also blocks, its hash slot gets a second call. In the second round, all hash slots are charged concurrently. If one of them
 * denies now because another request was faster, the charges in the others are refunded before the decision is returned. So no
 * limit is ever exceeded. A denied decision can cost only the units that drained while it held its charge, or the whole cost if
 * the refund failed.
 */
export class CrossSlotDecision {
  readonly #deps: CrossSlotDeps;
  readonly #hashSlots: readonly (readonly SubjectCounter[])[];
  readonly #request: DecisionRequest;
  /** Set when the time for the decision is over: nothing more is charged, and late charges are refunded. */
  #isOver = false;
  /** The denial of the second round, set while charges are still being refunded. */
  #denial: StoreDecision | undefined;

  constructor(
    deps: CrossSlotDeps,
    hashSlots: readonly (readonly SubjectCounter[])[],
    request: DecisionRequest,
  ) {
    this.#deps = deps;
    this.#hashSlots = hashSlots;
    this.#request = request;
  }

  /** Takes at most `withinMs` in all. Rejects with the store's error; charges are then refunded in the background. */
  decide(withinMs: number): Promise<StoreDecision> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#isOver = true;
        if (this.#denial !== undefined) resolve(this.#denial);
        else reject(timeoutError(this.#deps.monitor.timeoutMs));
      };
      const cancel = this.#deps.monitor.giveUpAfter(withinMs, giveUp);
      this.#decide().then(resolve, reject).finally(cancel);
    });
  }

  async #decide(): Promise<StoreDecision> {
    const { cost, mode } = this.#request;
    const checks = await Promise.all(this.#hashSlots.map((some) => this.#send(some, "inspect")));
    if (checks.some(({ allowed }) => !allowed)) {
      return mode === "enforce" ? this.#setBlocks(checks) : combineDenied(checks, checks);
    }
    // A cost of 0 charges nothing, so there is no second round.
    if (cost === 0) return combineAllowed(checks, mode === "peek" ? [] : receiptsOf(checks));
    if (this.#isOver) return combineDenied(checks, []);
    const settled = await Promise.allSettled(this.#hashSlots.map((some) => this.#send(some, mode)));
    const replies = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const receipts = isCharging(mode) ? receiptsOf(replies.filter(({ allowed }) => allowed)) : [];
    const failed = settled.find((one) => one.status === "rejected");
    const denials = replies.filter(({ allowed }) => !allowed);
    // Other requests may be refunding too, so this denial may end early and is not cacheable.
    if (denials.length > 0) this.#denial = combineDenied([...checks, ...denials], []);
    if (failed !== undefined || denials.length > 0 || this.#isOver)
      await this.#undoCharges(receipts);
    if (this.#denial !== undefined) return this.#denial;
    if (failed !== undefined) throw failed.reason;
    return combineAllowed(replies, receipts);
  }

  /** Calls the hash slots that denied once more, so that they set their blocks: the first round sets none. */
  async #setBlocks(checks: readonly HashSlotReply[]): Promise<StoreDecision> {
    const replies = await Promise.all(checks.map((reply) => this.#setBlock(reply)));
    return combineDenied(replies, replies);
  }

  async #setBlock(check: HashSlotReply): Promise<HashSlotReply> {
    const { allowed, blocked, counters } = check;
    if (allowed || blocked || !counters.some(({ shape }) => shape.blocksOnDenial)) return check;
    const [decided] = await Promise.allSettled([this.#send(counters, "enforce")]);
    if (decided.status === "rejected") return check;
    if (!decided.value.allowed) return decided.value;
    await this.#undoCharges(decided.value.receipts);
    return check;
  }

  async #send(counters: readonly SubjectCounter[], mode: DecideMode): Promise<HashSlotReply> {
    const { monitor } = this.#deps;
    const { policy, cost, holder } = this.#request;
    const { key } = counters[0] as SubjectCounter;
    const call = { cost, mode, counters, holder: isCharging(mode) ? holder : undefined };
    const needsLateReply =
      call.holder !== undefined ||
      counters.some(({ notifyingLimits }) => notifyingLimits.length > 0);
    const onLate = needsLateReply
      ? (reply: LateReply) => this.#deps.onLateReply(call, reply)
      : undefined;
    const reply = await monitor.run(policy.store, operationFor(mode), call, key, 0, onLate);
    return { counters, reply, ...decodeReply(policy, counters, cost, reply) };
  }

  /** Refunds the charges and releases the slots. If a refund fails, the charge stays. */
  async #undoCharges(receipts: readonly Receipt[]): Promise<void> {
    const refunds = receipts.map((receipt) => this.#deps.refund(receipt));
    await Promise.allSettled([...refunds, this.#request.slots?.release()]);
  }
}

function combineAllowed(
  replies: readonly DecodedReply[],
  receipts: readonly Receipt[],
): StoreDecision {
  const limits = removeHoles(mergeStates(replies));
  return { allowed: true, blocked: false, limits, receipts, cacheableReplies: [] };
}

function combineDenied(
  replies: readonly DecodedReply[],
  cacheableReplies: readonly CountersReply[],
): StoreDecision {
  const blocked = replies.some((reply) => reply.blocked);
  const limits = removeHoles(mergeStates(replies));
  return { allowed: false, blocked, limits, receipts: [], cacheableReplies };
}

/** Combines the limits of several replies; later replies replace earlier ones. */
function mergeStates(replies: readonly DecodedReply[]): DecodedReply["states"] {
  const merged: (LimitState | undefined)[] = [];
  for (const { states } of replies) {
    states.forEach((state, position) => {
      if (state !== undefined) merged[position] = state;
    });
  }
  return merged;
}

function receiptsOf(replies: readonly DecodedReply[]): readonly Receipt[] {
  return replies.flatMap(({ receipts }) => receipts);
}

function timeoutError(timeoutMs: number): HeadgateError {
  return new HeadgateError(
    "HEADGATE_STORE_UNAVAILABLE",
    `the store did not answer from all hash slots within ${timeoutMs} ms`,
  );
}
