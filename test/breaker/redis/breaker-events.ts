import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { BreakerStateChange, DegradedBreaker } from "@headgate/breaker";
import { BREAKER_CHANNELS } from "@headgate/breaker";

export interface BreakerEvents {
  readonly states: readonly BreakerStateChange[];
  readonly degraded: readonly DegradedBreaker[];
  stop(): void;
}

/** Listens to what breakers of a name publish in this process. */
export function listenToBreaker(name: string): BreakerEvents {
  const states: BreakerStateChange[] = [];
  const degraded: DegradedBreaker[] = [];
  const noteState = (message: unknown): void => {
    const change = message as BreakerStateChange;
    if (change.breaker === name) states.push(change);
  };
  const noteDegraded = (message: unknown): void => {
    const event = message as DegradedBreaker;
    if (event.breaker === name) degraded.push(event);
  };
  subscribe(BREAKER_CHANNELS.state, noteState);
  subscribe(BREAKER_CHANNELS.degraded, noteDegraded);
  return {
    states,
    degraded,
    stop() {
      unsubscribe(BREAKER_CHANNELS.state, noteState);
      unsubscribe(BREAKER_CHANNELS.degraded, noteDegraded);
    },
  };
}
