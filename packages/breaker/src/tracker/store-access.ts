import type { HeadgateError } from "@headgate/core";
import type { CountingStore, Operation, StoreTimeouts } from "@headgate/core/internal";
import { monitorStore, rejectWrongType, toStoreFailure } from "@headgate/core/internal";

/** How a breaker calls a store. */
export interface StoreAccess {
  /** Microseconds. */
  now(): number;
  /** Whether other processes count there; such a store can also be unavailable. */
  readonly isShared: boolean;
  /** Runs an operation. Rejects with the store's errors, and after its timeout; `onLate` gets a reply that arrives after that. */
  run<Call>(
    step: Operation<Call>,
    call: Call,
    onLate?: (reply: readonly number[]) => void,
  ): Promise<readonly number[]>;
  /** Sends an operation without a time limit, even to a store that is known to be unavailable. Rejects with the store's errors. */
  sendUntimed<Call>(step: Operation<Call>, call: Call): Promise<unknown>;
  /** Like `run`, but at once, if the store is this process's memory. */
  readonly runNow: CountingStore["runSync"];
  /** Returns the reason for a missing reply. Throws all other errors. */
  toStoreFailure(error: unknown): HeadgateError;
  /** Waits for calls in flight, and stops health checks of an unavailable store. */
  close(): Promise<void>;
}

export function createStoreAccess(store: CountingStore, times: StoreTimeouts): StoreAccess {
  const { transport, now } = store;
  const sendUntimed = <Call>(operation: Operation<Call>, call: Call): Promise<readonly number[]> =>
    store.run(operation, call);
  if (transport === undefined) {
    return {
      now,
      isShared: false,
      run: sendUntimed,
      sendUntimed,
      runNow: store.runSync,
      toStoreFailure(error) {
        throw error;
      },
      async close() {},
    };
  }
  const monitor = monitorStore(store.owner, transport, times);
  const release = monitor.use();
  const inFlight = new Set<Promise<unknown>>();

  async function track<T>(reply: Promise<T>): Promise<T> {
    inFlight.add(reply);
    try {
      return await reply;
    } finally {
      inFlight.delete(reply);
    }
  }

  return {
    now,
    isShared: true,
    async run(operation, call, onLate) {
      const keys = operation.keys(call);
      const late = onLate && ((reply?: readonly number[]) => reply && onLate(reply));
      const reply = await track(monitor.run(store, operation, call, keys[0] as string, 0, late));
      rejectWrongType(
        reply,
        keys.map((key) => ({ key })),
      );
      return reply;
    },
    sendUntimed,
    runNow: undefined,
    toStoreFailure: (error) => toStoreFailure(error, monitor.log),
    async close() {
      await Promise.allSettled(inFlight);
      release();
    },
  };
}
