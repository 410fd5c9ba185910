import { BackgroundTimer, background } from "@headgate/core/internal";
import type { CountedOutcome, OutcomeBatch } from "../machine/breaker-policy.ts";
import type { AdmittedPeriod } from "../machine/period.ts";
import type { SyncRequest } from "../machine/target.ts";

/** This many outcomes are sent without waiting for more. */
const FULL_BATCH = 1_000;

/** The outcomes of calls that were admitted in one period. */
export type OutcomeReport = Pick<SyncRequest, "admittedIn" | "outcomes">;

export interface OutcomeBufferOptions {
  createBatch(): OutcomeBatch;
  /** The longest that outcomes wait, in milliseconds. */
  readonly maxWaitMs: number;
  /** Called when it is time to send. */
  onDue(): void;
}

/** Outcomes that wait to be sent together. */
export class OutcomeBuffer {
  readonly #options: OutcomeBufferOptions;
  #batch: OutcomeBatch;
  /** The period in which the calls were admitted. */
  #admittedIn: AdmittedPeriod = "any";
  #isDue = false;
  // It does not keep the process alive: unsent outcomes are lost when the process ends.
  readonly #alarm = new BackgroundTimer(() => this.#markDue());

  constructor(options: OutcomeBufferOptions) {
    this.#options = options;
    this.#batch = options.createBatch();
  }

  get isEmpty(): boolean {
    return this.#batch.size === 0;
  }

  /** Whether the outcomes have waited long enough. */
  get isDue(): boolean {
    return this.#isDue;
  }

  /** Adds the outcome of a call that was admitted in a period. */
  add(outcome: CountedOutcome, period: AdmittedPeriod): void {
    this.#batch.add(outcome);
    if (this.#admittedIn === "any") this.#admittedIn = period;
    if (this.#batch.size === FULL_BATCH) this.#markDue();
    else if (!this.#isDue && !this.#alarm.isSet) this.#alarm.set(this.#options.maxWaitMs);
  }

  /** Takes all outcomes. */
  take(): OutcomeReport {
    if (this.isEmpty) return NO_OUTCOMES;
    const taken = { admittedIn: this.#admittedIn, outcomes: this.#batch };
    this.#empty();
    return taken;
  }

  /** Drops calls that were admitted in an earlier period, because they do not count any more. */
  dropAdmitted(): void {
    if (this.#admittedIn !== "any") this.#empty();
  }

  #markDue(): void {
    this.#isDue = true;
    // A report has outcomes of many requests, and must not keep the async context of one of them.
    background.runInAsyncScope(this.#options.onDue);
  }

  #empty(): void {
    this.#alarm.stop();
    this.#isDue = false;
    this.#batch = this.#options.createBatch();
    this.#admittedIn = "any";
  }
}

const NO_OUTCOMES = { admittedIn: "any", outcomes: undefined } as const;
