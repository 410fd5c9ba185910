import type { LimitState } from "../../decision.ts";
import { HeadgateError } from "../../errors.ts";
import { stepFor } from "../../store/decide.ts";
import type { DecideMode } from "../../store/decide-call.ts";
import { isCharging, isSettled } from "../../store/decide-call.ts";
import type { SubjectCounter } from "../counters.ts";
import { placesReturned } from "../places/returned-places.ts";
import type { TakenPlaces } from "../places/taken-places.ts";
import type { LimitStates, ReadReply } from "../read-reply.ts";
import { listReceipt, present, readReply } from "../read-reply.ts";
import type { Answer, AskedStore, CountersReply } from "./slots.ts";

/** What one slot answered. */
type SlotReply = ReadReply & CountersReply;

/**
 * One decision whose counters are in several slots of a cluster, which no single call can reach.
 *
 * All slots are asked first, at once: a denial there is final, complete, and charged nowhere; where a limit that denied blocks, its
 * slot is called once more. Otherwise all are charged, at
 * once; should one deny now, because somebody else was faster, what the others charged is given back by receipt before the
 * answer. So no limit is ever exceeded, and a denied decision leaves no more than what drained while it held the units, or
 * its cost where the give-back could not be delivered.
 */
export class AcrossSlots {
  readonly #asked: AskedStore;
  readonly #slots: readonly (readonly SubjectCounter[])[];
  readonly #cost: number;
  readonly #places: TakenPlaces | undefined;
  /** Set when the time for the decision is over: nothing more is charged, and what was is given back. */
  #isOver = false;
  /** What is known already, while something is still given back. */
  #verdict: Answer | undefined;

  constructor(
    asked: AskedStore,
    slots: readonly (readonly SubjectCounter[])[],
    cost: number,
    places?: TakenPlaces,
  ) {
    this.#asked = asked;
    this.#slots = slots;
    this.#cost = cost;
    this.#places = places;
  }

  /**
   * Takes no longer than `withinMs` for all calls together. Rejects with the store's error; then what was charged is being
   * given back.
   */
  decide(mode: DecideMode, withinMs: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#isOver = true;
        if (this.#verdict !== undefined) resolve(this.#verdict);
        else reject(lateOver(this.#asked.watch.timeoutMs));
      };
      const cancel = this.#asked.watch.giveUpAfter(withinMs, giveUp);
      this.#decide(mode).then(resolve, reject).finally(cancel);
    });
  }

  async #decide(mode: DecideMode): Promise<Answer> {
    const asked = await Promise.all(this.#slots.map((some) => this.#ask(some, "ask")));
    if (asked.some(({ allowed }) => !allowed)) {
      return mode === "enforce" ? this.#block(asked) : denied(asked, asked);
    }
    // A cost of 0 only looks: the first round has the answer.
    if (this.#cost === 0) return allowedBy(asked, isSettled(mode) ? receiptsOf(asked) : []);
    // When it is over, nobody hears the answer.
    if (this.#isOver) return denied(asked, []);
    const settled = await Promise.allSettled(this.#slots.map((some) => this.#ask(some, mode)));
    const replies = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const receipts = isCharging(mode) ? receiptsOf(replies.filter(({ allowed }) => allowed)) : [];
    const failed = settled.find((one) => one.status === "rejected");
    const late = replies.filter(({ allowed }) => !allowed);
    // What was charged and is given back is as it was before. Others may be giving back as well: this denial may not last.
    if (late.length > 0) this.#verdict = denied([...asked, ...late], []);
    if (failed !== undefined || late.length > 0 || this.#isOver) await this.#giveBack(receipts);
    if (this.#verdict !== undefined) return this.#verdict;
    if (failed !== undefined) throw failed.reason;
    return allowedBy(replies, receipts);
  }

  /** Has those that denied in the first round decide, so that they block: looking blocks nobody. */
  async #block(asked: readonly SlotReply[]): Promise<Answer> {
    const replies = await Promise.all(asked.map((reply) => this.#blockOne(reply)));
    return denied(replies, replies);
  }

  async #blockOne(asked: SlotReply): Promise<SlotReply> {
    const { allowed, blocked, counters } = asked;
    if (allowed || blocked || !counters.some(({ shape }) => shape.blocks)) return asked;
    const [decided] = await Promise.allSettled([this.#ask(counters, "enforce")]);
    if (decided.status === "rejected") return asked;
    if (!decided.value.allowed) return decided.value;
    await this.#giveBack(listReceipt(decided.value.receipt));
    return asked;
  }

  async #ask(counters: readonly SubjectCounter[], mode: DecideMode): Promise<SlotReply> {
    const { counted, watch } = this.#asked;
    const { key } = counters[0] as SubjectCounter;
    const places = isCharging(mode) ? this.#places : undefined;
    const call = { cost: this.#cost, mode, counters, holder: places?.holder };
    const store = placesReturned(counted.store, places);
    const reply = await watch.run(store, stepFor(mode), call, key);
    return { counters, reply, ...readReply(counted, counters, this.#cost, reply) };
  }

  /** What cannot be delivered stays charged. */
  async #giveBack(receipts: ReadonlyArray<ReadReply["receipt"]>): Promise<void> {
    const given = receipts.map((receipt) => this.#asked.giveBack([receipt]));
    await Promise.allSettled([...given, this.#places?.release()]);
  }
}

function allowedBy(replies: readonly ReadReply[], receipts: Answer["receipts"]): Answer {
  const limits = present(merge(replies));
  return { allowed: true, blocked: false, limits, receipts, lasting: [] };
}

function denied(replies: readonly ReadReply[], lasting: readonly CountersReply[]): Answer {
  const blocked = replies.some((reply) => reply.blocked);
  return { allowed: false, blocked, limits: present(merge(replies)), receipts: [], lasting };
}

/** The limits of several replies; a later one's count. */
function merge(replies: readonly ReadReply[]): LimitStates {
  const merged: (LimitState | undefined)[] = [];
  for (const { states } of replies) {
    states.forEach((state, place) => {
      if (state !== undefined) merged[place] = state;
    });
  }
  return merged;
}

/** What can be given back, or settled, of some slots' replies. */
function receiptsOf(replies: readonly ReadReply[]): Answer["receipts"] {
  return replies.flatMap(({ receipt }) => listReceipt(receipt));
}

function lateOver(timeoutMs: number): HeadgateError {
  return new HeadgateError(
    "HEADGATE_STORE_UNAVAILABLE",
    `the store gave no answer over several slots within ${timeoutMs} ms`,
  );
}
