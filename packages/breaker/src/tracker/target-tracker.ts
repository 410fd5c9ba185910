import type { CountingStore } from "@headgate/core/internal";
import { codeOf, emitWarning } from "@headgate/core/internal";
import type { CallOutcome, CountedOutcome, OutcomeBatch } from "../machine/breaker-policy.ts";
import type { BreakerState, CallDecision, EndedTrialCall } from "../machine/period.ts";
import { ALLOWED, REJECTED } from "../machine/period.ts";
import type { TargetKeys } from "../machine/target.ts";
import type { OutcomeReport } from "./outcome-buffer.ts";
import { OutcomeBuffer } from "./outcome-buffer.ts";
import type { TargetLabels } from "./publish.ts";
import { publishOutcome, publishView } from "./publish.ts";
import type { StoreAccess } from "./store-access.ts";
import { LocalTarget, TargetBackend } from "./target-backend.ts";
import type { TargetView } from "./target-view.ts";
import { isNewGeneration } from "./target-view.ts";

/** Microseconds after which a target that is not closed is checked again: an operator may have closed it. */
const RECHECK_MICROS = 1_000_000;

/** Shared by all trackers of a breaker. */
interface TrackerContext {
  readonly breaker: string;
  readonly access: StoreAccess;
  /** Memory of this process; undefined if the store itself is memory. */
  readonly local: CountingStore | undefined;
  /** How many microseconds outcomes are collected; 0 sends each by itself, also if nothing is shared. */
  readonly flushIntervalMicros: number;
  /** For how many microseconds a view may be used. */
  readonly maxViewAgeMicros: number;
  /** Trackers with outcomes to send. */
  readonly unsent: Set<TargetTracker>;
}

/**
 * One target in this process. It collects outcomes and sends them together; each reply brings the state of the fleet, by which
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
  /** The report in flight: at most one, if outcomes are collected. */
  #flushing: Promise<void> | undefined;
  #callRequest: Promise<CallDecision> | undefined;
  /** The last request that reported outcomes. */
  #lastReport: Promise<CallDecision> | undefined;

  constructor(name: string, keys: TargetKeys, context: TrackerContext) {
    this.name = name;
    this.#keys = keys;
    this.#context = context;
    this.#local = context.local && new LocalTarget(context.local, keys);
    const { breaker, access } = context;
    this.#labels = { breaker, target: name };
    this.#backend = new TargetBackend({ breaker, name, keys, access, local: this.#local });
    this.#ramp = new Ramp(keys.policy.rampUpMicros);
    this.#buffer = new OutcomeBuffer({
      createBatch: () => this.#createBatch(),
      maxWaitMs: context.flushIntervalMicros / 1_000,
      onDue: () => void this.flush(),
    });
  }

  /** The last known state. Only valid after the first reply. */
  get view(): TargetView {
    return this.#view as TargetView;
  }

  /** The generation of calls that are admitted now. */
  get generation(): number {
    return this.#generation;
  }

  /** Decides a call by the known state; undefined if only the store can decide. */
  decideLocally(): CallDecision | undefined {
    const view = this.#view;
    if (view === undefined) return undefined;
    if (view.state === "open") return this.#decideWhileOpen(view);
    const { maxViewAgeMicros, access } = this.#context;
    // Nothing changes without this process, so no clock is read.
    if (
      maxViewAgeMicros === Number.POSITIVE_INFINITY &&
      view.state === "closed" &&
      view.changesAt <= view.receivedAt
    ) {
      return ALLOWED;
    }
    const now = access.now();
    const longest =
      view.state === "closed" ? maxViewAgeMicros : Math.min(maxViewAgeMicros, RECHECK_MICROS);
    const isFresh = now >= view.receivedAt && now - view.receivedAt < longest;
    if (!isFresh) return undefined;
    if (view.state === "half-open") return now < view.changesAt ? REJECTED : undefined;
    return this.#decideByView(view, now);
  }

  /** Requests a call from the store. */
  requestCall(): Promise<CallDecision> {
    const view = this.#view;
    const mayBeTrial = view?.state === "half-open" || view?.state === "open";
    if (mayBeTrial || this.#context.maxViewAgeMicros === 0) return this.#requestFromStore();
    if (this.#callRequest !== undefined) return this.#joinRequest(this.#callRequest);
    const request = this.#requestFromStore().finally(() => {
      this.#callRequest = undefined;
    });
    this.#callRequest = request;
    return request;
  }

  /** Records the outcome of a call that was admitted in a generation. Without a flush interval, resolves when the store has it. */
  recordOutcome(outcome: CountedOutcome, generation: number | "any"): Promise<unknown> | undefined {
    publishOutcome(this.#labels, outcome);
    if (generation !== "any" && generation !== this.#generation) return undefined;
    // Periods of this process alone are unknown to the store.
    const period = generation === "any" || this.view.degraded ? "any" : this.view.period;
    const { access, flushIntervalMicros, unsent } = this.#context;
    if (access.isShared && flushIntervalMicros > 0) {
      unsent.add(this);
      this.#buffer.add(outcome, period);
      return undefined;
    }
    const outcomes = this.#createBatch();
    outcomes.add(outcome);
    const reply = this.#sync({ admittedIn: period, outcomes });
    return reply instanceof Promise ? reply : undefined;
  }

  /** Ends a trial call. */
  async endTrialCall(leaseId: number, outcome: CallOutcome): Promise<void> {
    if (outcome !== "ignore") publishOutcome(this.#labels, outcome);
    await this.#sync(this.#takeOutcomes(), { leaseId, outcome });
  }

  /** Reports the collected outcomes, and reads the state of the target. */
  async refresh(): Promise<void> {
    await this.#sync(this.#takeOutcomes());
  }

  /** Like `refresh`, but joins a report in flight, and never rejects. */
  flush(): Promise<void> {
    this.#flushing ??= this.#sendOutcomes().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  /** Sends all collected outcomes. */
  async drain(): Promise<void> {
    await this.#flushing;
    if (!this.#buffer.isEmpty) await this.flush();
  }

  /** Sets the state by hand, for the whole fleet. Rejects with the store's errors, after setting it for this process alone. */
  async setState(state: BreakerState, emptiesWindow: boolean): Promise<void> {
    // Earlier outcomes are reported before the state change, because state changes and reports may overtake each other.
    if (this.#lastReport !== undefined) await this.#lastReport.catch(() => {});
    if (!this.#buffer.isEmpty) await this.refresh();
    const { view, failure } = await this.#backend.setState(state, emptiesWindow);
    this.#updateView(view);
    if (failure !== undefined) throw failure;
    // The reply of a later request came first, and that request may also have reached the store first.
    if (this.#view !== view) await this.refresh();
  }

  #decideWhileOpen(view: TargetView): CallDecision | undefined {
    const now = this.#context.access.now();
    if (now < view.receivedAt || now >= view.changesAt) return undefined;
    if (now - view.receivedAt >= RECHECK_MICROS) void this.flush();
    return REJECTED;
  }

  async #requestFromStore(): Promise<CallDecision> {
    const decision = await this.#sync(this.#takeOutcomes(), undefined, true);
    if (decision.kind !== "allowed") return decision;
    return this.#decideByView(this.view, this.#context.access.now());
  }

  /** Calls that find the view too old share one request. If the target is half-open then, only that request may get a trial call. */
  async #joinRequest(request: Promise<CallDecision>): Promise<CallDecision> {
    await request;
    return this.#decideByView(this.view, this.#context.access.now());
  }

  /** Decides by a view, without another request. */
  #decideByView(view: TargetView, now: number): CallDecision {
    if (view.state === "open" || view.state === "forced-open" || view.state === "half-open")
      return REJECTED;
    if (view.state !== "closed" || now >= view.changesAt) return ALLOWED;
    return this.#ramp.tryAdmit(view.changesAt - now) ? ALLOWED : REJECTED;
  }

  async #sendOutcomes(): Promise<void> {
    try {
      // Outcomes that came while a report was in flight may be due after it.
      do await this.refresh();
      while (this.#buffer.isDue);
    } catch (error) {
      // The cause may be a custom clock without a valid time, which calls report, too.
      emitWarning(
        codeOf(error) ?? "HEADGATE_BAD_REPLY",
        `outcomes were not counted: ${String(error)}`,
      );
    }
  }

  /** Reports outcomes, and updates the view. Returns the decision on a requested call. Synchronous if the store is memory. */
  #sync(
    { admittedIn, outcomes }: OutcomeReport,
    endedTrial?: EndedTrialCall,
    requestsCall = false,
  ): CallDecision | Promise<CallDecision> {
    const request = { target: this.#keys, admittedIn, outcomes, endedTrial, requestsCall };
    const view = this.#backend.sync(request);
    if (!(view instanceof Promise)) return this.#updateView(view);
    const decision = view.then((later) => this.#updateView(later));
    if (outcomes !== undefined) this.#lastReport = decision;
    return decision;
  }

  /** Takes all collected outcomes. */
  #takeOutcomes(): OutcomeReport {
    this.#context.unsent.delete(this);
    return this.#buffer.take();
  }

  #createBatch(): OutcomeBatch {
    const { window, windowSize } = this.#keys.policy;
    return window.createBatch(windowSize);
  }

  #updateView(view: TargetView): CallDecision {
    const before = this.#view;
    // A late reply to an earlier request is ignored.
    if (before !== undefined && view.sequence < before.sequence) return view.decision;
    this.#view = view;
    if (before !== undefined && isNewGeneration(before, view)) this.#beginGeneration(view);
    publishView(this.#labels, before?.state ?? "closed", view);
    return view.decision;
  }

  #beginGeneration(view: TargetView): void {
    this.#generation += 1;
    this.#buffer.dropAdmitted();
    if (this.#buffer.isEmpty) this.#context.unsent.delete(this);
    if (view.state === "closed" && !view.degraded) this.#local?.clear();
  }
}

/** The price of a call, and the credit for each at the beginning of a ramp: whole numbers, which add up exactly. */
const CALL_PRICE = 1_000_000;
const INITIAL_CREDIT = 100_000;

/** Admits a growing share of calls, evenly spread: one in ten at first, all of them at the end. */
export class Ramp {
  readonly #length: number;
  #credit = 0;

  /** `length` in any unit of time. */
  constructor(length: number) {
    this.#length = length;
  }

  /** Whether the next call is admitted, with this much of the ramp left. */
  tryAdmit(left: number): boolean {
    // During a deploy another policy's ramp may be longer, and this one's length may be 0.
    const passed = this.#length === 0 ? 1 : Math.max(1 - left / this.#length, 0);
    this.#credit += INITIAL_CREDIT + Math.round((CALL_PRICE - INITIAL_CREDIT) * passed);
    if (this.#credit < CALL_PRICE) return false;
    this.#credit -= CALL_PRICE;
    return true;
  }
}
