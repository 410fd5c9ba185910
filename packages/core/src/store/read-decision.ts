import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { generationIn, isValue, stampIn, stateIn } from "../scripts/read-value.ts";
import type { Counter } from "./counter.ts";
import type { DecideCall } from "./decide-call.ts";
import { readInteger } from "./list-script.ts";

/** A limit of an answer, brought to the present. */
interface AnsweredLimit {
  readonly limit: CompiledLimit;
  readonly state: unknown;
  /** Where its numbers begin in the reply. */
  readonly at: number;
}

/** How many numbers a script reports of a log beside its state. */
const REPORTED = 4;

/**
 * The reply to a decision from what decide.lua or look.lua answered, which is states: the numbers are told by the algorithms'
 * twins. Undefined for what the scripts never answer, also a denial by limits that would all allow.
 */
export function readDecision(call: DecideCall, answer: unknown): readonly number[] | undefined {
  const values: readonly unknown[] = Array.isArray(answer) ? answer : [answer];
  const [first] = values;
  const isCharged = call.mode === "charge" && Buffer.isBuffer(first);
  if (!isCharged && values.length === 1 && readInteger(first) === -1) return [0, -1];
  const reader = new AnswerReader(call, values, isCharged);
  return reader.read() && reader.reply.every(Number.isSafeInteger) ? reader.reply : undefined;
}

class AnswerReader {
  readonly #call: DecideCall;
  readonly #values: readonly unknown[];
  readonly #isCharged: boolean;
  readonly #limits: AnsweredLimit[] = [];
  readonly reply: number[];
  #next: number;

  constructor(call: DecideCall, values: readonly unknown[], isCharged: boolean) {
    this.#call = call;
    this.#values = values;
    this.#isCharged = isCharged;
    this.#next = isCharged ? 0 : 1;
    const [first] = values;
    this.reply = [isCharged ? stampIn(first as Buffer) : readInteger(first)];
  }

  /** False when there is not one value for each counter. */
  read(): boolean {
    for (const counter of this.#call.counters) if (!this.#readCounter(counter)) return false;
    if (this.#next !== this.#values.length) return false;
    const isAllowed = this.#isCharged || this.#ask();
    if (!this.#isCharged && isAllowed && this.#call.mode === "charge") return false;
    this.#report(isAllowed);
    return true;
  }

  #readCounter({ shape, limits }: Counter): boolean {
    const now = this.reply[0] as number;
    const value = this.#values[this.#next];
    this.#next += 1;
    if (value === null ? this.#isCharged : !isValue(value, shape)) return false;
    const bytes = value as Buffer | null;
    this.reply.push(bytes === null ? 0 : generationIn(bytes));
    const elapsed = bytes === null ? 0 : Math.max(0, now - stampIn(bytes));
    for (let i = 0; i < limits.length; i += 1) {
      const limit = limits[i] as CompiledLimit;
      const { algorithm, quota } = limit;
      let state: unknown;
      if (limit.shape.hasLog) {
        const reported = this.#values.slice(this.#next, this.#next + REPORTED);
        this.#next += REPORTED;
        state = algorithm.read(reported.map(readInteger), quota);
      } else {
        state = bytes === null ? algorithm.fresh(quota) : stateIn(bytes, shape, i, limit);
        if (!this.#isCharged) algorithm.advance(state, quota, elapsed, now);
      }
      this.#limits.push({ limit, state, at: this.reply.length });
      this.reply.push(0, 0, 0, 0);
    }
    return true;
  }

  /** Whether all limits allow. */
  #ask(): boolean {
    let isAllowed = true;
    for (const { limit, state, at } of this.#limits) {
      const wait = limit.algorithm.wait(state, limit.quota, this.#call.cost);
      this.reply[at] = wait;
      isAllowed &&= wait === 0;
    }
    return isAllowed;
  }

  #report(isAllowed: boolean): void {
    const { mode, cost } = this.#call;
    for (const { limit, state, at } of this.#limits) {
      const { algorithm, quota } = limit;
      if (isAllowed && mode === "peek" && cost > 0) algorithm.spend(state, quota, cost);
      const { remaining, reset, growth } = algorithm.report(state, quota);
      this.reply[at + 1] = remaining;
      this.reply[at + 2] = reset;
      this.reply[at + 3] = growth;
    }
  }
}
