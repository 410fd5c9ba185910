import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { BREAKER_CHANNELS } from "@headgate/breaker";
import { onTestFinished } from "vitest";

/** What happens to breakers until the test ends, in order, under the last word of its channel. */
export function recordBreakerEvents(): [what: string, message: unknown][] {
  return recordChannelEvents("state", "rejected", "degraded");
}

/** What they publish on some of their channels. */
export function recordChannelEvents(
  ...whats: readonly (keyof typeof BREAKER_CHANNELS)[]
): [what: string, message: unknown][] {
  const heard: [string, unknown][] = [];
  for (const what of whats) {
    const channel = BREAKER_CHANNELS[what];
    const note = (message: unknown): void => {
      heard.push([what, message]);
    };
    subscribe(channel, note);
    onTestFinished(() => void unsubscribe(channel, note));
  }
  return heard;
}
