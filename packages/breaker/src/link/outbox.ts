import { Alarm, background } from "@headgate/core/internal";
import type { Contact } from "../machine/contact.ts";
import type { OutcomeBatch, OutcomeCode } from "../machine/window.ts";

/** This many outcomes are sent without waiting for more. */
const MANY = 1_000;

export interface OutboxOptions {
  newBatch(): OutcomeBatch;
  /** The longest that outcomes wait, in milliseconds. */
  readonly longestMs: number;
  /** Called when it is time to send. */
  onDue(): void;
}

/** Outcomes that wait to be sent together. */
export class Outbox {
  readonly #options: OutboxOptions;
  #batch: OutcomeBatch;
  /** The period in which the calls were let through; -1 for any. */
  #admitted = -1;
  #isDue = false;
  // It does not keep the process alive: unsent outcomes are lost when the process ends.
  readonly #alarm = new Alarm(() => this.#becomeDue());

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#batch = options.newBatch();
  }

  get isEmpty(): boolean {
    return this.#batch.size === 0;
  }

  /** Whether the outcomes have waited long enough. */
  get isDue(): boolean {
    return this.#isDue;
  }

  /** Adds the outcome of a call that was let through in a period, -1 for any. */
  add(outcome: OutcomeCode, period: number): void {
    this.#batch.add(outcome);
    if (this.#admitted === -1) this.#admitted = period;
    if (this.#batch.size === MANY) this.#becomeDue();
    else if (!this.#isDue && !this.#alarm.isSet) this.#alarm.set(this.#options.longestMs);
  }

  /** Takes all outcomes. */
  take(): Pick<Contact, "admitted" | "outcomes"> {
    if (this.isEmpty) return NOTHING;
    const taken = { admitted: this.#admitted, outcomes: this.#batch };
    this.#empty();
    return taken;
  }

  /** Drops calls that were let through in an earlier period, which cannot count any more. */
  forgetAdmitted(): void {
    if (this.#admitted !== -1) this.#empty();
  }

  #becomeDue(): void {
    this.#isDue = true;
    // A report belongs to many requests, and keeps the context of none.
    background.runInAsyncScope(this.#options.onDue);
  }

  #empty(): void {
    this.#alarm.stop();
    this.#isDue = false;
    this.#batch = this.#options.newBatch();
    this.#admitted = -1;
  }
}

const NOTHING = { admitted: -1, outcomes: undefined };
