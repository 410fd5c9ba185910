import type { HeadgateError } from "@headgate/core";
import type { Step, Store } from "@headgate/core/floors";
import { rejectForeign, storeFailure, watchStore } from "@headgate/core/floors";

/** A store, as a breaker asks it. */
export interface StoreAccess {
  /** Microseconds. */
  now(): number;
  /** Whether it can be away, and others count there as well. */
  readonly isShared: boolean;
  /** Runs a step. Rejects as the store does, within its time. */
  run<Call>(step: Step<Call>, call: Call): Promise<readonly number[]>;
  /** Why the store did not answer; throws every other error. */
  readFailure(error: unknown): HeadgateError;
  /** Stops trying to reach a store that is away. */
  close(): void;
}

export function accessStore(store: Store, timeoutMs: number): StoreAccess {
  const { remote, now } = store;
  if (remote === undefined) {
    return {
      now,
      isShared: false,
      run: store.run,
      readFailure(error) {
        throw error;
      },
      close() {},
    };
  }
  const watch = watchStore(store.owner, remote, timeoutMs);
  const release = watch.use();
  return {
    now,
    isShared: true,
    async run(step, call) {
      const keys = step.keys(call);
      const reply = await watch.run(store, step, call, keys[0] as string);
      rejectForeign(
        reply,
        keys.map((key) => ({ key })),
      );
      return reply;
    },
    readFailure: (error) => storeFailure(error, watch.notices),
    close: release,
  };
}
