import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { DegradedDecision } from "@headgate/core";
import { CHANNELS } from "@headgate/core";

export interface DegradedReasons {
  /** Why decisions of a limiter were taken without the store, in their order. */
  readonly reasons: readonly string[];
  stop(): void;
}

/** Listens to why decisions are degraded, so that a test that finds one can say more than that. */
export function listenForDegraded(limiter: string): DegradedReasons {
  const reasons: string[] = [];
  const listen = (message: unknown): void => {
    const degraded = message as DegradedDecision;
    if (degraded.limiter === limiter) reasons.push(degraded.reason.message);
  };
  subscribe(CHANNELS.degraded, listen);
  return { reasons, stop: () => unsubscribe(CHANNELS.degraded, listen) };
}
