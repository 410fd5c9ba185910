import type { CountingStore } from "@headgate/core/internal";
import { codeOf, warn } from "@headgate/core/internal";
import { CLOSED, FORCED_OPEN, HALF_OPEN, OPEN } from "../machine/period.ts";
import type { TargetKeys } from "../machine/target.ts";
import type { OutcomeBatch, OutcomeCode } from "../machine/window.ts";
import type { LocalTarget } from "./local-target.ts";
import { createLocalTarget } from "./local-target.ts";
import { Outbox } from "./outbox.ts";
import type { TargetNames } from "./publish-target.ts";
import { publishOutcome, publishView } from "./publish-target.ts";
import { Ramp } from "./ramp.ts";
import type { StoreAccess } from "./store-access.ts";
import type { Report, TargetReply, TrialRequest } from "./target-contacts.ts";
import { TargetContacts } from "./target-contacts.ts";
import type { View } from "./view.ts";
import { isAnotherEra } from "./view.ts";

/** Microseconds after which a target that is not closed is checked again: an operator may have closed it. */
const LOOK_AGAIN = 1_000_000;

/** Shared by all links of a breaker. */
export interface LinkContext {
  readonly breaker: string;
  readonly access: StoreAccess;
  /** Memory of this process; undefined where the store itself is. */
  readonly local: CountingStore | undefined;
  /** How many microseconds outcomes are collected; 0 sends each by itself, also if nothing is shared. */
  readonly flushInterval: number;
  /** For how many microseconds a view may be used. */
  readonly freshFor: number;
  /** Links that have something to send. */
  readonly unsent: Set<TargetLink>;
}

const NO_QUESTION: TrialRequest = { lease: 0, outcome: 0, asks: false };

/**
 * One target in this process. It collects outcomes and sends them together; each contact brings the state of the fleet, by which
 * calls are decided while it is fresh.
 */
export class TargetLink {
  readonly name: string;
  readonly #names: TargetNames;
  readonly #keys: TargetKeys;
  readonly #context: LinkContext;
  readonly #local: LocalTarget | undefined;
  readonly #contacts: TargetContacts;
  readonly #ramp: Ramp;
  readonly #outbox: Outbox;
  #view: View | undefined;
  /** Increases with each change that makes earlier calls irrelevant. */
  #generation = 0;
  /** The report under way: at most one, if outcomes are collected. */
  #sending: Promise<void> | undefined;
  #asking: Promise<number> | undefined;
  /** The last contact that reported outcomes. */
  #reporting: Promise<number> | undefined;
  /** The number of the contact by which the view was learned. */
  #learned = 0;

  constructor(name: string, keys: TargetKeys, context: LinkContext) {
    this.name = name;
    this.#keys = keys;
    this.#context = context;
    this.#local = context.local && createLocalTarget(context.local, keys);
    const { breaker, access } = context;
    this.#names = { breaker, target: name };
    this.#contacts = new TargetContacts({ breaker, name, keys, access, local: this.#local });
    this.#ramp = new Ramp(keys.policy.ramp);
    this.#outbox = new Outbox({
      newBatch: () => this.#newBatch(),
      longestMs: context.flushInterval / 1_000,
      onDue: () => void this.flush(),
    });
  }

  /** The last known state. Only valid after the first answer. */
  get view(): View {
    return this.#view as View;
  }

  /** The era of calls that are let through now. */
  get generation(): number {
    return this.#generation;
  }

  /** Decides a call by the known state: 0 no, -1 yes; undefined if only the store can tell. */
  answer(): number | undefined {
    const view = this.#view;
    if (view === undefined) return undefined;
    if (view.kind === OPEN) return this.#answerOpen(view);
    const { freshFor, access } = this.#context;
    // Nothing changes without this process, so no clock is read.
    if (
      freshFor === Number.POSITIVE_INFINITY &&
      view.kind === CLOSED &&
      view.ends <= view.learned
    ) {
      return -1;
    }
    const now = access.now();
    const longest = view.kind === CLOSED ? freshFor : Math.min(freshFor, LOOK_AGAIN);
    const isFresh = now >= view.learned && now - view.learned < longest;
    if (!isFresh) return undefined;
    if (view.kind === HALF_OPEN) return now < view.ends ? 0 : undefined;
    return this.#answerKnown(view, now);
  }

  /** Asks the store: 0 no, -1 yes, or the lease of a trial call. */
  requestTrial(): Promise<number> {
    const view = this.#view;
    const mayBeTrial = view?.kind === HALF_OPEN || view?.kind === OPEN;
    if (mayBeTrial || this.#context.freshFor === 0) return this.#askStore();
    if (this.#asking !== undefined) return this.#askWithOthers(this.#asking);
    const asking = this.#askStore().finally(() => {
      this.#asking = undefined;
    });
    this.#asking = asking;
    return asking;
  }

  /** Notes the outcome of a call that was let through in an era, -1 for any; if each is sent by itself, resolves when it is counted. */
  note(outcome: OutcomeCode, era: number): Promise<unknown> | undefined {
    publishOutcome(this.#names, outcome);
    if (era !== -1 && era !== this.#generation) return undefined;
    // Periods of this process alone are unknown to the store.
    const period = era === -1 || this.view.degraded ? -1 : this.view.period;
    const { access, flushInterval, unsent } = this.#context;
    if (access.isShared && flushInterval > 0) {
      unsent.add(this);
      this.#outbox.add(outcome, period);
      return undefined;
    }
    const outcomes = this.#newBatch();
    outcomes.add(outcome);
    const heard = this.#contact({ admitted: period, outcomes }, NO_QUESTION);
    return typeof heard === "number" ? undefined : heard;
  }

  /** Ends a trial call; -1 for one that says nothing about the target. */
  async settle(lease: number, outcome: OutcomeCode | -1): Promise<void> {
    if (outcome !== -1) publishOutcome(this.#names, outcome);
    await this.#contact(this.#takeAll(), { lease, outcome, asks: false });
  }

  /** Reports the collected outcomes, and learns the state of the target. */
  async look(): Promise<void> {
    await this.#contact(this.#takeAll(), NO_QUESTION);
  }

  /** Like `look`, but joins a report under way, and never rejects. */
  flush(): Promise<void> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  /** Sends all there is. */
  async drain(): Promise<void> {
    await this.#sending;
    if (!this.#outbox.isEmpty) await this.flush();
  }

  /** Sets the state by hand, for the whole fleet. Rejects with the store's errors: then it is set for this process alone. */
  async order(kind: number, empties: boolean): Promise<void> {
    // Outcomes from before the order are reported before it, because orders and contacts may overtake each other.
    if (this.#reporting !== undefined) await this.#reporting.catch(() => {});
    if (!this.#outbox.isEmpty) await this.look();
    const { heard, failure } = await this.#contacts.order(kind, empties);
    this.#learn(heard);
    if (failure !== undefined) throw failure;
    // The reply of a later contact came first, and that contact may also have reached the store first.
    if (this.#learned !== heard.number) await this.look();
  }

  #answerOpen(view: View): number | undefined {
    const now = this.#context.access.now();
    if (now < view.learned || now >= view.ends) return undefined;
    if (now - view.learned >= LOOK_AGAIN) void this.flush();
    return 0;
  }

  async #askStore(): Promise<number> {
    const permit = await this.#contact(this.#takeAll(), { ...NO_QUESTION, asks: true });
    return permit === -1 ? this.#answerKnown(this.view, this.#context.access.now()) : permit;
  }

  /** Many calls that find the view too old ask once; if that gave a trial call, the next ones may make the others. */
  async #askWithOthers(asking: Promise<number>): Promise<number> {
    await asking;
    return this.#answerKnown(this.view, this.#context.access.now());
  }

  /** The answer without asking again. */
  #answerKnown(view: View, now: number): number {
    if (view.kind === OPEN || view.kind === FORCED_OPEN || view.kind === HALF_OPEN) return 0;
    if (view.kind !== CLOSED || now >= view.ends) return -1;
    return this.#ramp.admits(view.ends - now) ? -1 : 0;
  }

  async #send(): Promise<void> {
    try {
      // Outcomes that came while a report was under way may be due after it.
      do await this.look();
      while (this.#outbox.isDue);
    } catch (error) {
      // For example, a given clock without a valid time: calls report that too.
      warn(codeOf(error) ?? "HEADGATE_BAD_REPLY", `outcomes were not counted: ${String(error)}`);
    }
  }

  /** One contact; at once, where the store is memory. Returns the answer to a call that was asked for. */
  #contact(report: Report, question: TrialRequest): number | Promise<number> {
    const heard = this.#contacts.contact(report, question);
    if (!(heard instanceof Promise)) return this.#learn(heard);
    const learned = heard.then((later) => this.#learn(later));
    if (report.outcomes !== undefined) this.#reporting = learned;
    return learned;
  }

  /** All outcomes that wait. */
  #takeAll(): Report {
    this.#context.unsent.delete(this);
    return this.#outbox.take();
  }

  #newBatch(): OutcomeBatch {
    const { window, size } = this.#keys.policy;
    return window.batch(size);
  }

  #learn({ view, permit, number }: TargetReply): number {
    // An answer to an earlier contact that comes later is ignored.
    if (number < this.#learned) return permit;
    this.#learned = number;
    const before = this.#view;
    this.#view = view;
    if (before !== undefined && isAnotherEra(before, view)) this.#beginEra(view);
    publishView(this.#names, before?.kind ?? CLOSED, view);
    return permit;
  }

  #beginEra(view: View): void {
    this.#generation += 1;
    this.#outbox.forgetAdmitted();
    if (this.#outbox.isEmpty) this.#context.unsent.delete(this);
    if (view.kind === CLOSED && !view.degraded) this.#local?.empty();
  }
}
