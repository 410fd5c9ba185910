import type { HeadgateError } from "@headgate/core";
import type { Step, Store, StoreTimes } from "@headgate/core/internal";
import { rejectWrongType, storeFailure, watchStore } from "@headgate/core/internal";

/** How a breaker asks a store. */
export interface StoreAccess {
  /** Microseconds. */
  now(): number;
  /** Whether it can fail to answer, and whether others also count there. */
  readonly isShared: boolean;
  /** Runs a step. Rejects as the store does, within its time; a reply that comes after that is handed to `onLate`. */
  run<Call>(
    step: Step<Call>,
    call: Call,
    onLate?: (reply: readonly number[]) => void,
  ): Promise<readonly number[]>;
  /** Sends a step that nobody waits for, whatever is known about the store. Rejects with the store's errors. */
  send<Call>(step: Step<Call>, call: Call): Promise<unknown>;
  /** Like `run`, but at once, if the store is this process's memory. */
  readonly runNow: Store["runNow"];
  /** Why the store did not answer; throws every other error. */
  readFailure(error: unknown): HeadgateError;
  /** Waits for what is under way, and stops trying to reach a store that is away. */
  close(): Promise<void>;
}

export function accessStore(store: Store, times: StoreTimes): StoreAccess {
  const { remote, now } = store;
  // Without a waiter, because the outcomes that a call reports count even if nobody waits for the answer any more.
  const send = <Call>(step: Step<Call>, call: Call): Promise<readonly number[]> =>
    store.run(step, call);
  if (remote === undefined) {
    return {
      now,
      isShared: false,
      run: send,
      send,
      runNow: store.runNow,
      readFailure(error) {
        throw error;
      },
      async close() {},
    };
  }
  const watch = watchStore(store.owner, remote, times);
  const release = watch.use();
  const underway = new Set<Promise<unknown>>();
  const waiterless: Store = { ...store, run: send };

  async function waitFor<T>(reply: Promise<T>): Promise<T> {
    underway.add(reply);
    try {
      return await reply;
    } finally {
      underway.delete(reply);
    }
  }

  return {
    now,
    isShared: true,
    async run(step, call, onLate) {
      const keys = step.keys(call);
      const late = onLate === undefined ? undefined : hearLate(store, step, onLate);
      try {
        const reply = await waitFor(
          watch.run(late?.store ?? waiterless, step, call, keys[0] as string),
        );
        rejectWrongType(
          reply,
          keys.map((key) => ({ key })),
        );
        return reply;
      } catch (error) {
        late?.giveUp();
        throw error;
      }
    },
    send,
    runNow: undefined,
    readFailure: (error) => storeFailure(error, watch.notices),
    async close() {
      await Promise.allSettled(underway);
      release();
    },
  };
}

/** The store for one call, whose reply is wanted even after the wait for it has ended. */
function hearLate(
  store: Store,
  step: Step<never>,
  onLate: (reply: readonly number[]) => void,
): { readonly store: Store; giveUp(): void } {
  let isGivenUp = false;
  return {
    store: {
      ...store,
      async run(asked, call) {
        const reply = await store.run(asked, call);
        if (isGivenUp && (asked as unknown) === step) onLate(reply);
        return reply;
      },
    },
    giveUp() {
      isGivenUp = true;
    },
  };
}
