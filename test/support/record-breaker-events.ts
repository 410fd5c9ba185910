import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { BREAKER_CHANNELS } from "@headgate/breaker";
import { onTestFinished } from "vitest";

/** Records the events of breakers until the test ends, in order, with the last word of their channel. */
export function recordBreakerEvents(): [name: string, message: unknown][] {
  return recordChannelEvents("state", "rejected", "degraded");
}

/** Records the events on some channels of breakers. */
export function recordChannelEvents(
  ...names: readonly (keyof typeof BREAKER_CHANNELS)[]
): [name: string, message: unknown][] {
  const events: [string, unknown][] = [];
  for (const name of names) {
    const channel = BREAKER_CHANNELS[name];
    const record = (message: unknown): void => {
      events.push([name, message]);
    };
    subscribe(channel, record);
    onTestFinished(() => void unsubscribe(channel, record));
  }
  return events;
}
