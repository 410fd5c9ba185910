import type { BreakerOptions } from "@headgate/breaker";
import { HeadgateError } from "@headgate/core";
import type { HeldBreaker } from "./held-breaker.ts";
import { holdBreaker, letRun } from "./held-breaker.ts";

/** An error after which the store is asked again, the next time. */
export const refused: HeadgateError = new HeadgateError("HEADGATE_STORE_MISCONFIGURED", "no right");

export interface LosableBreaker extends HeldBreaker<unknown> {
  /** What is asked fails from now on; or does not, without an error. */
  failWith(error: Error | undefined): void;
  /** Carries out what is asked, or lets it fail, and waits for what comes of it. */
  answer<T>(asking: Promise<T>): Promise<T>;
}

/** A breaker that sends each outcome, on a store that can be lost. */
export function loseBreaker(options: BreakerOptions = {}): LosableBreaker {
  const world = holdBreaker({ flushInterval: 0, ...options });
  let error: Error | undefined;
  return {
    ...world,
    failWith(next) {
      error = next;
    },
    async answer(asking) {
      // Whether it rejects is for the test to see.
      asking.catch(() => {});
      await letRun();
      const { held } = world;
      for (let call = held.shift(); call !== undefined; call = held.shift()) {
        await (error === undefined ? call.carryOut() : call.fail(error));
      }
      return asking;
    },
  };
}
