import type { LimitState } from "../common/decision.ts";
import { HeadgateError } from "../common/errors.ts";
import type { StoreMonitor } from "../health/store-health.ts";
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

/** Counters that can go in one call, grouped. */
export function groupByHashSlot<C extends Counter>(
  counters: readonly C[],
  remote: ScriptTransport,
): readonly (readonly C[])[] {
  if (counters.length === 1) return [counters];
  const slots = new Map<number, C[]>();
  for (const counter of counters) {
    const slot = remote.hashSlotOf(counter.key);
    const together = slots.get(slot);
    if (together === undefined) slots.set(slot, [counter]);
    else together.push(counter);
  }
  return [...slots.values()];
}

/** The same, after a call with these counters failed because they are in several hash slots; otherwise undefined. */
export function regroupByHashSlot<C extends Counter>(
  error: unknown,
  counters: readonly C[],
  remote: ScriptTransport,
): readonly (readonly C[])[] | undefined {
  if (!remote.isCrossSlotError(error)) return undefined;
  const slots = groupByHashSlot(counters, remote);
  return slots.length > 1 ? slots : undefined;
}

/** How to ask the hash slots, and how to refund charges and release concurrency slots. */
export interface CrossSlotDeps {
  readonly policy: CompiledPolicy;
  readonly monitor: StoreMonitor;
  readonly transport: ScriptTransport;
  refund(receipt: Receipt): Promise<unknown>;
  /**
   * Handles a call that was answered too late, or failed: releases its concurrency slots, and
   * publishes the thresholds that it reached.
   */
  onLateReply(call: DecideCall, reply: LateReply): void;
}

/** The reply to a call that was given up; undefined if the call failed. */
export type LateReply = readonly number[] | undefined;

type HashSlotReply = DecodedReply & CountersReply;

/**
 * One decision whose counters are in several hash slots of a cluster, which no single call can reach.
 *
 * First all hash slots are asked concurrently. A denial there is final and charges nothing; if a limit that denied also blocks,
 * its hash slot is called once more. Otherwise all hash slots are charged concurrently. If one of them denies now because
 * another request was faster, the charges in the others are refunded before the answer. So no limit is ever exceeded. A denied
 * decision can cost only the units that drained while it held its charge, or the whole cost if the refund could not be
 * delivered.
 */
export class CrossSlotDecision {
  readonly #deps: CrossSlotDeps;
  readonly #hashSlots: readonly (readonly SubjectCounter[])[];
  readonly #request: DecisionRequest;
  /** Set when the time for the decision is over: nothing more is charged, and late charges are refunded. */
  #isOver = false;
  /** The answer, while charges are still being refunded. */
  #denial: StoreDecision | undefined;

  constructor(
    place: CrossSlotDeps,
    slots: readonly (readonly SubjectCounter[])[],
    ask: DecisionRequest,
  ) {
    this.#deps = place;
    this.#hashSlots = slots;
    this.#request = ask;
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
    const asked = await Promise.all(this.#hashSlots.map((some) => this.#send(some, "ask")));
    if (asked.some(({ allowed }) => !allowed)) {
      return mode === "enforce" ? this.#setBlocks(asked) : combineDenied(asked, asked);
    }
    // A cost of 0 charges nothing, so the first round has the answer.
    if (cost === 0) return combineAllowed(asked, mode === "peek" ? [] : receiptsOf(asked));
    if (this.#isOver) return combineDenied(asked, []);
    const settled = await Promise.allSettled(this.#hashSlots.map((some) => this.#send(some, mode)));
    const replies = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const receipts = isCharging(mode) ? receiptsOf(replies.filter(({ allowed }) => allowed)) : [];
    const failed = settled.find((one) => one.status === "rejected");
    const late = replies.filter(({ allowed }) => !allowed);
    // Other requests may be refunding too, so this denial may not last.
    if (late.length > 0) this.#denial = combineDenied([...asked, ...late], []);
    if (failed !== undefined || late.length > 0 || this.#isOver) await this.#undoCharges(receipts);
    if (this.#denial !== undefined) return this.#denial;
    if (failed !== undefined) throw failed.reason;
    return combineAllowed(replies, receipts);
  }

  /** Asks the hash slots that denied to decide, so that they set their blocks: the first round sets none. */
  async #setBlocks(asked: readonly HashSlotReply[]): Promise<StoreDecision> {
    const replies = await Promise.all(asked.map((reply) => this.#setBlock(reply)));
    return combineDenied(replies, replies);
  }

  async #setBlock(asked: HashSlotReply): Promise<HashSlotReply> {
    const { allowed, blocked, counters } = asked;
    if (allowed || blocked || !counters.some(({ shape }) => shape.blocks)) return asked;
    const [decided] = await Promise.allSettled([this.#send(counters, "enforce")]);
    if (decided.status === "rejected") return asked;
    if (!decided.value.allowed) return decided.value;
    await this.#undoCharges(decided.value.receipts);
    return asked;
  }

  async #send(counters: readonly SubjectCounter[], mode: DecideMode): Promise<HashSlotReply> {
    const { monitor } = this.#deps;
    const { policy, cost, holder } = this.#request;
    const { key } = counters[0] as SubjectCounter;
    const call = { cost, mode, counters, holder: isCharging(mode) ? holder : undefined };
    const needsLateReply =
      call.holder !== undefined ||
      counters.some(({ notifyingLimits }) => notifyingLimits.length > 0);
    const late = needsLateReply
      ? (reply: LateReply) => this.#deps.onLateReply(call, reply)
      : undefined;
    const reply = await monitor.run(policy.store, operationFor(mode), call, key, 0, late);
    return { counters, reply, ...decodeReply(policy, counters, cost, reply) };
  }

  /** If a refund fails, the charge stays. */
  async #undoCharges(receipts: readonly Receipt[]): Promise<void> {
    const given = receipts.map((receipt) => this.#deps.refund(receipt));
    await Promise.allSettled([...given, this.#request.slots?.release()]);
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
    states.forEach((state, place) => {
      if (state !== undefined) merged[place] = state;
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
    `the store gave no answer over several slots within ${timeoutMs} ms`,
  );
}
