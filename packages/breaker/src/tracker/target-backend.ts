import type { HeadgateError } from "@headgate/core";
import { publishDegraded } from "../channels.ts";
import type { CallDecision } from "../machine/call-decision.ts";
import type { BreakerState } from "../machine/period.ts";
import type { SetStateRequest } from "../machine/set-target-state.ts";
import { setTargetState } from "../machine/set-target-state.ts";
import type { SyncRequest } from "../machine/sync-target.ts";
import { syncTarget } from "../machine/sync-target.ts";
import type { TargetKeys } from "../machine/target.ts";
import type { EndedTrialCall } from "../machine/trial-calls.ts";
import type { OutcomeBatch } from "../machine/window.ts";
import { decodeDecision } from "../machine/wire.ts";
import type { LocalTarget } from "./local-target.ts";
import type { StoreAccess } from "./store-access.ts";
import type { TargetView } from "./target-view.ts";
import { readView } from "./target-view.ts";

/** The outcomes of calls that were admitted in one period. */
export type OutcomeReport = Pick<SyncRequest, "admittedIn" | "outcomes">;

/** The decoded reply of a request. */
export interface TargetReply {
  readonly view: TargetView;
  /** The decision on the call that was requested, if one was. */
  readonly decision: CallDecision;
  /** Numbers the requests in the order in which they were sent. */
  readonly sequence: number;
}

export interface TargetBackendOptions {
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

  /** Reports outcomes, and reads the state. Synchronous if the store is memory. */
  sync(
    report: OutcomeReport,
    endedTrial: EndedTrialCall | undefined,
    requestsCall: boolean,
  ): TargetReply | Promise<TargetReply> {
    const { access, keys } = this.#options;
    const call: SyncRequest = {
      target: keys,
      admittedIn: report.admittedIn,
      outcomes: report.outcomes,
      endedTrial,
      requestsCall,
    };
    this.#lastSequence += 1;
    if (access.runNow === undefined) return this.#syncWithStore(call, this.#lastSequence);
    return decodeReply(access.runNow(syncTarget, call), access.now(), false, this.#lastSequence);
  }

  async #syncWithStore(call: SyncRequest, number: number): Promise<TargetReply> {
    const { access } = this.#options;
    try {
      const reply = await access.run(
        syncTarget,
        call,
        call.requestsCall ? this.#onLateReply : undefined,
      );
      const result = decodeReply(reply, access.now(), false, number);
      this.#leaveDegraded(result.view, call.outcomes);
      return result;
    } catch (error) {
      const { local } = this.#enterDegraded(error);
      const reply = await local.sync({ ...call, admittedIn: "any" });
      return decodeReply(reply, access.now(), true, number);
    }
  }

  /** Sets the state for the whole fleet, or, if the store does not reply, for this process alone. */
  async setState(
    state: BreakerState,
    emptiesWindow: boolean,
  ): Promise<{ readonly result: TargetReply; readonly failure?: HeadgateError }> {
    const { access, keys } = this.#options;
    const call: SetStateRequest = {
      target: keys,
      state,
      durationMicros: 0,
      openings: 0,
      emptiesWindow,
    };
    this.#lastSequence += 1;
    const number = this.#lastSequence;
    try {
      const result = decodeReply(
        await access.run(setTargetState, call),
        access.now(),
        false,
        number,
      );
      this.#leaveDegraded(result.view, undefined);
      return { result };
    } catch (error) {
      const { local, failure } = this.#enterDegraded(error);
      return {
        result: decodeReply(await local.setState(call), access.now(), true, number),
        failure,
      };
    }
  }

  /**
   * Releases the lease of a trial call that arrived too late to be used. This is sent even while the store is
   * known to be down; if it does not arrive, the lease ends by itself.
   */
  #releaseLateLease(reply: readonly number[]): void {
    const { access, keys } = this.#options;
    const decision = decodeDecision(reply);
    if (decision.kind !== "trial") return;
    const call: SyncRequest = {
      target: keys,
      admittedIn: "any",
      outcomes: undefined,
      endedTrial: { leaseId: decision.leaseId, outcome: "ignore" },
      requestsCall: false,
    };
    access.sendUntimed(syncTarget, call).catch(() => {});
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

function decodeReply(
  reply: readonly number[],
  now: number,
  degraded: boolean,
  sequence: number,
): TargetReply {
  return { view: readView(reply, now, degraded), decision: decodeDecision(reply), sequence };
}
