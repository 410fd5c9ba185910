import type { Breaker, BreakerOptions } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import type { Store } from "@headgate/core";
import { memoryStore } from "@headgate/core";

export interface BreakerOnClock<Result> {
  readonly breaker: Breaker<Result>;
  readonly store: Store;
  /** Advances the clock, in milliseconds. */
  advance(ms: number): void;
  /** Records calls that the breaker did not run. */
  count(successes: number, failures: number): Promise<void>;
}

/**
 * A breaker in this process, on a clock that the test moves. It opens for 30 s at the fourth call, if more than half failed,
 * and closes after two trial calls that are good.
 */
export function breakerOnClock<Result = unknown>(
  options: BreakerOptions<Result> = {},
): BreakerOnClock<Result> {
  let now = 1_800_000_000_000;
  const store = memoryStore({ clock: () => now });
  const breaker = createBreaker<Result>({
    name: "payments",
    store,
    minimumCalls: 4,
    trialCalls: 2,
    ...options,
  });
  return {
    breaker,
    store,
    advance(ms) {
      now += ms;
    },
    async count(successes, failures) {
      for (let i = 0; i < successes; i += 1) await breaker.record("success");
      for (let i = 0; i < failures; i += 1) await breaker.record("failure");
    },
  };
}
