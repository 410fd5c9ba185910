import type { CountingStore, Operation } from "@headgate/core/internal";
import type { SetStateRequest } from "../machine/set-target-state.ts";
import { setTargetState } from "../machine/set-target-state.ts";
import type { SyncRequest } from "../machine/sync-target.ts";
import { syncTarget } from "../machine/sync-target.ts";
import type { TargetKeys } from "../machine/target.ts";
import type { OutcomeBatch } from "../machine/window.ts";
import type { TargetView } from "./target-view.ts";

/**
 * A target in the memory of this process, for outages of the store. Memory replies at once, so calls take effect in their order,
 * whether they are awaited or not.
 */
export interface LocalTarget {
  /** Counts outcomes, and decides nothing. */
  record(outcomes: OutcomeBatch): void;
  /** Forgets all outcomes. */
  clear(): void;
  /** Decides from now on, starting from the fleet's last known state. */
  startDeciding(view: TargetView | undefined): void;
  /** Only counts again. */
  stopDeciding(): void;
  sync(call: SyncRequest): Promise<readonly number[]>;
  setState(call: SetStateRequest): Promise<readonly number[]>;
}

/** `store` is memory of this process, on the clock of the shared one. */
export function createLocalTarget(store: CountingStore, target: TargetKeys): LocalTarget {
  /** Ignores a clock without a valid time, because the earlier call of the store has reported it. */
  function run<Call>(operation: Operation<Call>, call: Call): void {
    store.run(operation, call).catch(() => {});
  }

  let isInitialized = false;

  function setMetricsOnly(emptiesWindow: boolean): void {
    run(setTargetState, {
      target,
      state: "metrics-only",
      durationMicros: 0,
      openings: 0,
      emptiesWindow,
    });
  }

  /** A target without calls takes no memory. The remains of an earlier tracker are useless. */
  function initialize(): void {
    if (!isInitialized) setMetricsOnly(true);
    isInitialized = true;
  }

  return {
    record(outcomes) {
      initialize();
      run(syncTarget, {
        target,
        admittedIn: "any",
        outcomes,
        endedTrial: undefined,
        requestsCall: false,
      });
    },
    clear() {
      if (isInitialized) setMetricsOnly(true);
    },
    startDeciding(
      { state, changesAt, openings } = { state: "closed", changesAt: 0, openings: 0 } as TargetView,
    ) {
      initialize();
      const durationMicros = Math.max(changesAt - store.now(), 0);
      run(setTargetState, { target, state, durationMicros, openings, emptiesWindow: false });
    },
    stopDeciding: () => setMetricsOnly(false),
    sync: (call) => store.run(syncTarget, call),
    setState: (call) => store.run(setTargetState, call),
  };
}
