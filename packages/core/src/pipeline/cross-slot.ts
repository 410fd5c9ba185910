import type { LimitState } from "../common/decision.ts";
import { HeadgateError } from "../common/errors.ts";
import type { StoreMonitor } from "../health/outage.ts";
import type { Counter } from "../operations/counter.ts";
import { stepFor } from "../operations/decide.ts";
import type { DecideCall, DecideMode } from "../operations/decide-call.ts";
import { isCharging } from "../operations/decide-call.ts";
import type { Receipt } from "../operations/refund.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import type { ScriptTransport } from "../store/store.ts";
import type { ReadReply } from "./decode-reply.ts";
import { present, readReply } from "./decode-reply.ts";
import type { CountersReply, DecisionRequest, StoreDecision } from "./stage.ts";

/** Counters that can go in one call, grouped. */
export function bySlot<C extends Counter>(
  counters: readonly C[],
  remote: ScriptTransport,
): readonly (readonly C[])[] {
  if (counters.length === 1) return [counters];
  const slots = new Map<number, C[]>();
  for (const counter of counters) {
    const slot = remote.slotOf(counter.key);
    const together = slots.get(slot);
    if (together === undefined) slots.set(slot, [counter]);
    else together.push(counter);
  }
  return [...slots.values()];
}

/** The same, after a call with these counters failed because they are in several hash slots; otherwise undefined. */
export function bySlotAfter<C extends Counter>(
  error: unknown,
  counters: readonly C[],
  remote: ScriptTransport,
): readonly (readonly C[])[] | undefined {
  if (!remote.isAcrossSlots(error)) return undefined;
  const slots = bySlot(counters, remote);
  return slots.length > 1 ? slots : undefined;
}

/** How to ask the hash slots, and how to refund charges and release concurrency slots. */
export interface CrossSlotDeps {
  readonly counted: CompiledPolicy;
  readonly watch: StoreMonitor;
  readonly remote: ScriptTransport;
  refund(receipt: Receipt): Promise<unknown>;
  /**
   * Handles a call that was answered too late, or failed: releases its concurrency slots, and
   * publishes the thresholds that it reached.
   */
  onLateReply(call: DecideCall, reply: LateReply): void;
}

/** The reply to a call that was given up; undefined if the call failed. */
export type LateReply = readonly number[] | undefined;

type SlotReply = ReadReply & CountersReply;

/**
 * One decision whose counters are in several hash slots of a cluster, which no single call can reach.
 *
 * First all hash slots are asked concurrently. A denial there is final and charges nothing; if a limit that denied also blocks,
 * its hash slot is called once more. Otherwise all hash slots are charged concurrently. If one of them denies now because
 * another request was faster, the charges in the others are refunded before the answer. So no limit is ever exceeded. A denied
 * decision can cost only the units that drained while it held its charge, or the whole cost if the refund could not be
 * delivered.
 */
export class AcrossSlots {
  readonly #deps: CrossSlotDeps;
  readonly #slots: readonly (readonly SubjectCounter[])[];
  readonly #request: DecisionRequest;
  /** Set when the time for the decision is over: nothing more is charged, and late charges are refunded. */
  #isOver = false;
  /** The answer, while charges are still being refunded. */
  #verdict: StoreDecision | undefined;

  constructor(
    place: CrossSlotDeps,
    slots: readonly (readonly SubjectCounter[])[],
    ask: DecisionRequest,
  ) {
    this.#deps = place;
    this.#slots = slots;
    this.#request = ask;
  }

  /** Takes at most `withinMs` in all. Rejects with the store's error; charges are then refunded in the background. */
  decide(withinMs: number): Promise<StoreDecision> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#isOver = true;
        if (this.#verdict !== undefined) resolve(this.#verdict);
        else reject(lateOver(this.#deps.watch.timeoutMs));
      };
      const cancel = this.#deps.watch.giveUpAfter(withinMs, giveUp);
      this.#decide().then(resolve, reject).finally(cancel);
    });
  }

  async #decide(): Promise<StoreDecision> {
    const { cost, mode } = this.#request;
    const asked = await Promise.all(this.#slots.map((some) => this.#send(some, "ask")));
    if (asked.some(({ allowed }) => !allowed)) {
      return mode === "enforce" ? this.#block(asked) : denied(asked, asked);
    }
    // A cost of 0 charges nothing, so the first round has the answer.
    if (cost === 0) return allowedBy(asked, mode === "peek" ? [] : receiptsOf(asked));
    if (this.#isOver) return denied(asked, []);
    const settled = await Promise.allSettled(this.#slots.map((some) => this.#send(some, mode)));
    const replies = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const receipts = isCharging(mode) ? receiptsOf(replies.filter(({ allowed }) => allowed)) : [];
    const failed = settled.find((one) => one.status === "rejected");
    const late = replies.filter(({ allowed }) => !allowed);
    // Other requests may be refunding too, so this denial may not last.
    if (late.length > 0) this.#verdict = denied([...asked, ...late], []);
    if (failed !== undefined || late.length > 0 || this.#isOver) await this.#giveBack(receipts);
    if (this.#verdict !== undefined) return this.#verdict;
    if (failed !== undefined) throw failed.reason;
    return allowedBy(replies, receipts);
  }

  /** Asks the hash slots that denied to decide, so that they set their blocks: the first round sets none. */
  async #block(asked: readonly SlotReply[]): Promise<StoreDecision> {
    const replies = await Promise.all(asked.map((reply) => this.#blockOne(reply)));
    return denied(replies, replies);
  }

  async #blockOne(asked: SlotReply): Promise<SlotReply> {
    const { allowed, blocked, counters } = asked;
    if (allowed || blocked || !counters.some(({ shape }) => shape.blocks)) return asked;
    const [decided] = await Promise.allSettled([this.#send(counters, "enforce")]);
    if (decided.status === "rejected") return asked;
    if (!decided.value.allowed) return decided.value;
    await this.#giveBack(decided.value.receipts);
    return asked;
  }

  async #send(counters: readonly SubjectCounter[], mode: DecideMode): Promise<SlotReply> {
    const { watch } = this.#deps;
    const { counted, cost, holder } = this.#request;
    const { key } = counters[0] as SubjectCounter;
    const call = { cost, mode, counters, holder: isCharging(mode) ? holder : undefined };
    const needsLateReply =
      call.holder !== undefined || counters.some(({ thresholdMarks }) => thresholdMarks.length > 0);
    const late = needsLateReply
      ? (reply: LateReply) => this.#deps.onLateReply(call, reply)
      : undefined;
    const reply = await watch.run(counted.store, stepFor(mode), call, key, 0, late);
    return { counters, reply, ...readReply(counted, counters, cost, reply) };
  }

  /** If a refund fails, the charge stays. */
  async #giveBack(receipts: readonly Receipt[]): Promise<void> {
    const given = receipts.map((receipt) => this.#deps.refund(receipt));
    await Promise.allSettled([...given, this.#request.slots?.release()]);
  }
}

function allowedBy(replies: readonly ReadReply[], receipts: readonly Receipt[]): StoreDecision {
  const limits = present(merge(replies));
  return { allowed: true, blocked: false, limits, receipts, cacheableReplies: [] };
}

function denied(
  replies: readonly ReadReply[],
  cacheableReplies: readonly CountersReply[],
): StoreDecision {
  const blocked = replies.some((reply) => reply.blocked);
  const limits = present(merge(replies));
  return { allowed: false, blocked, limits, receipts: [], cacheableReplies };
}

/** Combines the limits of several replies; later replies replace earlier ones. */
function merge(replies: readonly ReadReply[]): ReadReply["states"] {
  const merged: (LimitState | undefined)[] = [];
  for (const { states } of replies) {
    states.forEach((state, place) => {
      if (state !== undefined) merged[place] = state;
    });
  }
  return merged;
}

function receiptsOf(replies: readonly ReadReply[]): readonly Receipt[] {
  return replies.flatMap(({ receipts }) => receipts);
}

function lateOver(timeoutMs: number): HeadgateError {
  return new HeadgateError(
    "HEADGATE_STORE_UNAVAILABLE",
    `the store gave no answer over several slots within ${timeoutMs} ms`,
  );
}
