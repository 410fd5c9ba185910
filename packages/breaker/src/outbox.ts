import type { Contact } from "./machine/contact.ts";
import type { OutcomeBatch, OutcomeCode } from "./machine/window.ts";

/** So many outcomes are sent without waiting for more. */
const MANY = 1_000;

export interface OutboxOptions {
  newBatch(): OutcomeBatch;
  /** The longest that outcomes wait, in milliseconds. */
  readonly longestMs: number;
  /** Called when it is time to send what is there. */
  onDue(): void;
}

/** Outcomes that wait to be sent together. */
export class Outbox {
  readonly #options: OutboxOptions;
  #batch: OutcomeBatch;
  /** The period in which the calls were let through; -1 for any. */
  #admitted = -1;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#batch = options.newBatch();
  }

  get isEmpty(): boolean {
    return this.#batch.size === 0;
  }

  /** Adds the outcome of a call that was let through in a period, -1 for any. */
  add(outcome: OutcomeCode, period: number): void {
    this.#batch.add(outcome);
    if (this.#admitted === -1) this.#admitted = period;
    if (this.#batch.size === MANY) this.#options.onDue();
    // It keeps no process alive: what a process has not sent when it ends, the others do not learn.
    else this.#timer ??= setTimeout(this.#options.onDue, this.#options.longestMs).unref();
  }

  /** Takes all that is there. */
  take(): Pick<Contact, "admitted" | "outcomes"> {
    if (this.isEmpty) return NOTHING;
    const taken = { admitted: this.#admitted, outcomes: this.#batch };
    this.#empty();
    return taken;
  }

  /** Forgets what was let through in an earlier period, and cannot count any more. */
  forgetAdmitted(): void {
    if (this.#admitted !== -1) this.#empty();
  }

  #empty(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#batch = this.#options.newBatch();
    this.#admitted = -1;
  }
}

const NOTHING = { admitted: -1, outcomes: undefined };
