import type { CountingStore } from "@headgate/core/internal";
import { codeOf, emitWarning } from "@headgate/core/internal";
import { CLOSED, FORCED_OPEN, HALF_OPEN, OPEN } from "../machine/period.ts";
import type { TargetKeys } from "../machine/target.ts";
import type { OutcomeBatch, OutcomeCode } from "../machine/window.ts";
import type { LocalTarget } from "./local-target.ts";
import { createLocalTarget } from "./local-target.ts";
import { OutcomeBuffer } from "./outcome-buffer.ts";
import type { TargetLabels } from "./publish-target.ts";
import { publishOutcome, publishView } from "./publish-target.ts";
import { Ramp } from "./ramp.ts";
import type { StoreAccess } from "./store-access.ts";
import type { OutcomeReport, TargetReply, TrialRequest } from "./target-backend.ts";
import { TargetBackend } from "./target-backend.ts";
import type { TargetView } from "./target-view.ts";
import { isNewGeneration } from "./target-view.ts";

/** Microseconds after which a target that is not closed is checked again: an operator may have closed it. */
const RECHECK_MICROS = 1_000_000;

/** Shared by all links of a breaker. */
export interface TrackerContext {
  readonly breaker: string;
  readonly access: StoreAccess;
  /** Memory of this process; undefined where the store itself is. */
  readonly local: CountingStore | undefined;
  /** How many microseconds outcomes are collected; 0 sends each by itself, also if nothing is shared. */
  readonly flushIntervalMicros: number;
  /** For how many microseconds a view may be used. */
  readonly maxViewAgeMicros: number;
  /** Links that have something to send. */
  readonly unsent: Set<TargetTracker>;
}

const NO_TRIAL_REQUEST: TrialRequest = { lease: 0, outcome: 0, requestsCall: false };

/**
 * One target in this process. It collects outcomes and sends them together; each contact brings the state of the fleet, by which
 * calls are decided while it is fresh.
 */
export class TargetTracker {
  readonly name: string;
  readonly #labels: TargetLabels;
  readonly #keys: TargetKeys;
  readonly #context: TrackerContext;
  readonly #local: LocalTarget | undefined;
  readonly #backend: TargetBackend;
  readonly #ramp: Ramp;
  readonly #buffer: OutcomeBuffer;
  #view: TargetView | undefined;
  /** Increases with each change that makes earlier calls irrelevant. */
  #generation = 0;
  /** The report under way: at most one, if outcomes are collected. */
  #flushing: Promise<void> | undefined;
  #callRequest: Promise<number> | undefined;
  /** The last contact that reported outcomes. */
  #lastReport: Promise<number> | undefined;
  /** The number of the contact by which the view was learned. */
  #viewSequence = 0;

  constructor(name: string, keys: TargetKeys, context: TrackerContext) {
    this.name = name;
    this.#keys = keys;
    this.#context = context;
    this.#local = context.local && createLocalTarget(context.local, keys);
    const { breaker, access } = context;
    this.#labels = { breaker, target: name };
    this.#backend = new TargetBackend({ breaker, name, keys, access, local: this.#local });
    this.#ramp = new Ramp(keys.policy.rampMicros);
    this.#buffer = new OutcomeBuffer({
      createBatch: () => this.#createBatch(),
      maxWaitMs: context.flushIntervalMicros / 1_000,
      onDue: () => void this.flush(),
    });
  }

  /** The last known state. Only valid after the first answer. */
  get view(): TargetView {
    return this.#view as TargetView;
  }

  /** The era of calls that are let through now. */
  get generation(): number {
    return this.#generation;
  }

  /** Decides a call by the known state: 0 no, -1 yes; undefined if only the store can tell. */
  decideLocally(): number | undefined {
    const view = this.#view;
    if (view === undefined) return undefined;
    if (view.kind === OPEN) return this.#decideWhileOpen(view);
    const { maxViewAgeMicros, access } = this.#context;
    // Nothing changes without this process, so no clock is read.
    if (
      maxViewAgeMicros === Number.POSITIVE_INFINITY &&
      view.kind === CLOSED &&
      view.changesAt <= view.receivedAt
    ) {
      return -1;
    }
    const now = access.now();
    const longest =
      view.kind === CLOSED ? maxViewAgeMicros : Math.min(maxViewAgeMicros, RECHECK_MICROS);
    const isFresh = now >= view.receivedAt && now - view.receivedAt < longest;
    if (!isFresh) return undefined;
    if (view.kind === HALF_OPEN) return now < view.changesAt ? 0 : undefined;
    return this.#decideByView(view, now);
  }

  /** Asks the store: 0 no, -1 yes, or the lease of a trial call. */
  requestCall(): Promise<number> {
    const view = this.#view;
    const mayBeTrial = view?.kind === HALF_OPEN || view?.kind === OPEN;
    if (mayBeTrial || this.#context.maxViewAgeMicros === 0) return this.#requestFromStore();
    if (this.#callRequest !== undefined) return this.#joinRequest(this.#callRequest);
    const asking = this.#requestFromStore().finally(() => {
      this.#callRequest = undefined;
    });
    this.#callRequest = asking;
    return asking;
  }

  /** Notes the outcome of a call that was let through in an era, -1 for any; if each is sent by itself, resolves when it is counted. */
  recordOutcome(outcome: OutcomeCode, generation: number): Promise<unknown> | undefined {
    publishOutcome(this.#labels, outcome);
    if (generation !== -1 && generation !== this.#generation) return undefined;
    // Periods of this process alone are unknown to the store.
    const period = generation === -1 || this.view.degraded ? -1 : this.view.period;
    const { access, flushIntervalMicros, unsent } = this.#context;
    if (access.isShared && flushIntervalMicros > 0) {
      unsent.add(this);
      this.#buffer.add(outcome, period);
      return undefined;
    }
    const outcomes = this.#createBatch();
    outcomes.add(outcome);
    const heard = this.#sync({ admittedIn: period, outcomes }, NO_TRIAL_REQUEST);
    return typeof heard === "number" ? undefined : heard;
  }

  /** Ends a trial call; -1 for one that says nothing about the target. */
  async endTrialCall(lease: number, outcome: OutcomeCode | -1): Promise<void> {
    if (outcome !== -1) publishOutcome(this.#labels, outcome);
    await this.#sync(this.#takeOutcomes(), { lease, outcome, requestsCall: false });
  }

  /** Reports the collected outcomes, and learns the state of the target. */
  async refresh(): Promise<void> {
    await this.#sync(this.#takeOutcomes(), NO_TRIAL_REQUEST);
  }

  /** Like `look`, but joins a report under way, and never rejects. */
  flush(): Promise<void> {
    this.#flushing ??= this.#sendOutcomes().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  /** Sends all there is. */
  async drain(): Promise<void> {
    await this.#flushing;
    if (!this.#buffer.isEmpty) await this.flush();
  }

  /** Sets the state by hand, for the whole fleet. Rejects with the store's errors: then it is set for this process alone. */
  async setState(kind: number, empties: boolean): Promise<void> {
    // Outcomes from before the order are reported before it, because orders and contacts may overtake each other.
    if (this.#lastReport !== undefined) await this.#lastReport.catch(() => {});
    if (!this.#buffer.isEmpty) await this.refresh();
    const { heard, failure } = await this.#backend.setState(kind, empties);
    this.#updateView(heard);
    if (failure !== undefined) throw failure;
    // The reply of a later contact came first, and that contact may also have reached the store first.
    if (this.#viewSequence !== heard.sequence) await this.refresh();
  }

  #decideWhileOpen(view: TargetView): number | undefined {
    const now = this.#context.access.now();
    if (now < view.receivedAt || now >= view.changesAt) return undefined;
    if (now - view.receivedAt >= RECHECK_MICROS) void this.flush();
    return 0;
  }

  async #requestFromStore(): Promise<number> {
    const permit = await this.#sync(this.#takeOutcomes(), {
      ...NO_TRIAL_REQUEST,
      requestsCall: true,
    });
    return permit === -1 ? this.#decideByView(this.view, this.#context.access.now()) : permit;
  }

  /** Many calls that find the view too old ask once; if that gave a trial call, the next ones may make the others. */
  async #joinRequest(asking: Promise<number>): Promise<number> {
    await asking;
    return this.#decideByView(this.view, this.#context.access.now());
  }

  /** The answer without asking again. */
  #decideByView(view: TargetView, now: number): number {
    if (view.kind === OPEN || view.kind === FORCED_OPEN || view.kind === HALF_OPEN) return 0;
    if (view.kind !== CLOSED || now >= view.changesAt) return -1;
    return this.#ramp.tryAdmit(view.changesAt - now) ? -1 : 0;
  }

  async #sendOutcomes(): Promise<void> {
    try {
      // Outcomes that came while a report was under way may be due after it.
      do await this.refresh();
      while (this.#buffer.isDue);
    } catch (error) {
      // For example, a given clock without a valid time: calls report that too.
      emitWarning(
        codeOf(error) ?? "HEADGATE_BAD_REPLY",
        `outcomes were not counted: ${String(error)}`,
      );
    }
  }

  /** One contact; at once, where the store is memory. Returns the answer to a call that was asked for. */
  #sync(report: OutcomeReport, question: TrialRequest): number | Promise<number> {
    const heard = this.#backend.sync(report, question);
    if (!(heard instanceof Promise)) return this.#updateView(heard);
    const learned = heard.then((later) => this.#updateView(later));
    if (report.outcomes !== undefined) this.#lastReport = learned;
    return learned;
  }

  /** All outcomes that wait. */
  #takeOutcomes(): OutcomeReport {
    this.#context.unsent.delete(this);
    return this.#buffer.take();
  }

  #createBatch(): OutcomeBatch {
    const { window, windowSize } = this.#keys.policy;
    return window.createBatch(windowSize);
  }

  #updateView({ view, permit, sequence }: TargetReply): number {
    // An answer to an earlier contact that comes later is ignored.
    if (sequence < this.#viewSequence) return permit;
    this.#viewSequence = sequence;
    const before = this.#view;
    this.#view = view;
    if (before !== undefined && isNewGeneration(before, view)) this.#beginGeneration(view);
    publishView(this.#labels, before?.kind ?? CLOSED, view);
    return permit;
  }

  #beginGeneration(view: TargetView): void {
    this.#generation += 1;
    this.#buffer.dropAdmitted();
    if (this.#buffer.isEmpty) this.#context.unsent.delete(this);
    if (view.kind === CLOSED && !view.degraded) this.#local?.clear();
  }
}
