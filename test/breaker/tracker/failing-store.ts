import type { BreakerOptions } from "@headgate/breaker";
import { HeadgateError } from "@headgate/core";
import type { HeldBreaker } from "./held-breaker.ts";
import { flushMicrotasks, holdBreaker } from "./held-breaker.ts";

/** An error after which the next request still goes to the store. */
export const storeError: HeadgateError = new HeadgateError(
  "HEADGATE_STORE_MISCONFIGURED",
  "no right",
);

export interface FailingStoreBreaker extends HeldBreaker<unknown> {
  /** Makes the store's calls fail from now on, or succeed if there is no error. */
  failWith(error: Error | undefined): void;
  /** Completes all held calls, or fails them, and returns the result that was pending. */
  withReplies<T>(pending: Promise<T>): Promise<T>;
}

/** A breaker that sends each outcome, on a store that can fail. */
export function createFailingStoreBreaker(options: BreakerOptions = {}): FailingStoreBreaker {
  const world = holdBreaker({ flushInterval: 0, ...options });
  let error: Error | undefined;
  return {
    ...world,
    failWith(next) {
      error = next;
    },
    async withReplies(pending) {
      // The test handles a rejection.
      pending.catch(() => {});
      await flushMicrotasks();
      const { held } = world;
      for (let call = held.shift(); call !== undefined; call = held.shift()) {
        await (error === undefined ? call.complete() : call.fail(error));
      }
      return pending;
    },
  };
}
