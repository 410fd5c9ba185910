import type { HeadgateError } from "@headgate/core";
import type { CountingStore, Operation } from "@headgate/core/internal";
import type { OutcomeBatch } from "../machine/breaker-policy.ts";
import type { BreakerState } from "../machine/period.ts";
import type { SetStateRequest, SyncRequest, TargetKeys } from "../machine/target.ts";
import { setTargetState, syncTarget } from "../machine/target.ts";
import { decodeReply } from "../machine/wire.ts";
import { publishDegraded } from "./publish.ts";
import type { StoreAccess } from "./store-access.ts";
import type { TargetView } from "./target-view.ts";
import { readView } from "./target-view.ts";

/** A request that changes nothing. */
const NO_REQUEST = {
  admittedIn: "any",
  outcomes: undefined,
  endedTrial: undefined,
  requestsCall: false,
} as const;

interface TargetBackendOptions {
  readonly breaker: string;
  readonly name: string;
  readonly keys: TargetKeys;
  readonly access: StoreAccess;
  /** Decides during outages; undefined if the store is the memory of this process, which is always available. */
  readonly local: LocalTarget | undefined;
}

/** Reads and changes a target in the store, or during an outage in this process alone. */
export class TargetBackend {
  readonly #options: TargetBackendOptions;
  #lastSequence = 0;
  /** The fleet's last known state. */
  #lastView: TargetView | undefined;
  #isDegraded = false;
  readonly #onLateReply = (reply: readonly number[]): void => this.#releaseLateLease(reply);

  constructor(options: TargetBackendOptions) {
    this.#options = options;
  }

  /** Sends a request, and reads the state. Synchronous if the store is memory. */
  sync(request: SyncRequest): TargetView | Promise<TargetView> {
    const { access } = this.#options;
    this.#lastSequence += 1;
    if (access.runNow === undefined) return this.#syncWithStore(request, this.#lastSequence);
    return readView(access.runNow(syncTarget, request), access.now(), false, this.#lastSequence);
  }

  async #syncWithStore(request: SyncRequest, sequence: number): Promise<TargetView> {
    const { access } = this.#options;
    const onLate = request.requestsCall ? this.#onLateReply : undefined;
    try {
      const reply = await access.run(syncTarget, request, onLate);
      const view = readView(reply, access.now(), false, sequence);
      this.#leaveDegraded(view, request.outcomes);
      return view;
    } catch (error) {
      const { local } = this.#enterDegraded(error);
      const reply = await local.sync({ ...request, admittedIn: "any" });
      return readView(reply, access.now(), true, sequence);
    }
  }

  /** Sets the state for the whole fleet, or, if the store does not reply, for this process alone. */
  async setState(
    state: BreakerState,
    emptiesWindow: boolean,
  ): Promise<{ readonly view: TargetView; readonly failure?: HeadgateError }> {
    const { access, keys: target } = this.#options;
    const request = { target, state, durationMicros: 0, openings: 0, emptiesWindow };
    this.#lastSequence += 1;
    const sequence = this.#lastSequence;
    try {
      const reply = await access.run(setTargetState, request);
      const view = readView(reply, access.now(), false, sequence);
      this.#leaveDegraded(view, undefined);
      return { view };
    } catch (error) {
      const { local, failure } = this.#enterDegraded(error);
      const reply = await local.setState(request);
      return { view: readView(reply, access.now(), true, sequence), failure };
    }
  }

  /**
   * Releases the lease of a trial call that arrived too late to be used. This is sent even while the store is
   * known to be down; if it does not arrive, the lease ends by itself.
   */
  #releaseLateLease(reply: readonly number[]): void {
    const { access, keys: target } = this.#options;
    const decision = decodeReply(reply)?.decision;
    if (decision?.kind !== "trial") return;
    const endedTrial = { leaseId: decision.leaseId, outcome: "ignore" } as const;
    access.sendUntimed(syncTarget, { ...NO_REQUEST, target, endedTrial }).catch(() => {});
  }

  /** The store replied: this process only counts, for the next outage. */
  #leaveDegraded(view: TargetView, outcomes: OutcomeBatch | undefined): void {
    const { local } = this.#options;
    this.#lastView = view;
    if (this.#isDegraded) local?.stopDeciding();
    this.#isDegraded = false;
    if (outcomes !== undefined) local?.record(outcomes);
  }

  /** The store did not reply: this process decides by itself. Throws all other errors. */
  #enterDegraded(error: unknown): { readonly local: LocalTarget; readonly failure: HeadgateError } {
    const { access, breaker, name } = this.#options;
    const failure = access.toStoreFailure(error);
    const local = this.#options.local as LocalTarget;
    if (!this.#isDegraded) {
      this.#isDegraded = true;
      local.startDeciding(this.#lastView);
      publishDegraded({ breaker, target: name, reason: failure });
    }
    return { local, failure };
  }
}

/**
 * A target in the memory of this process, for outages of the store. Memory replies at once, so calls take effect in their order,
 * whether they are awaited or not.
 */
export class LocalTarget {
  readonly #store: CountingStore;
  readonly #target: TargetKeys;
  /** A target without calls takes no memory. */
  #isInitialized = false;

  /** `store` is memory of this process, on the clock of the shared one. */
  constructor(store: CountingStore, target: TargetKeys) {
    this.#store = store;
    this.#target = target;
  }

  /** Counts outcomes, and decides nothing. */
  record(outcomes: OutcomeBatch): void {
    this.#initialize();
    this.#run(syncTarget, { ...NO_REQUEST, target: this.#target, outcomes });
  }

  /** Forgets all outcomes. */
  clear(): void {
    if (this.#isInitialized) this.#set("metrics-only", { emptiesWindow: true });
  }

  /** Decides from now on, starting from the fleet's last known state. */
  startDeciding(view: TargetView | undefined): void {
    this.#initialize();
    if (view === undefined) {
      this.#set("closed");
    } else {
      const durationMicros = Math.max(view.changesAt - this.#store.now(), 0);
      this.#set(view.state, { durationMicros, openings: view.openings });
    }
  }

  /** Only counts again. */
  stopDeciding(): void {
    this.#set("metrics-only");
  }

  sync(request: SyncRequest): Promise<readonly number[]> {
    return this.#store.run(syncTarget, request);
  }

  setState(request: SetStateRequest): Promise<readonly number[]> {
    return this.#store.run(setTargetState, request);
  }

  /** The remains of an earlier tracker are useless. */
  #initialize(): void {
    if (!this.#isInitialized) this.#set("metrics-only", { emptiesWindow: true });
    this.#isInitialized = true;
  }

  #set(state: BreakerState, change: Partial<SetStateRequest> = {}): void {
    const unchanged = { durationMicros: 0, openings: 0, emptiesWindow: false };
    this.#run(setTargetState, { target: this.#target, state, ...unchanged, ...change });
  }

  /** Ignores a clock without a valid time, because the earlier call of the store has reported it. */
  #run<Call>(operation: Operation<Call>, call: Call): void {
    this.#store.run(operation, call).catch(() => {});
  }
}
