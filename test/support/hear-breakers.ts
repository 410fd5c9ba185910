import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { BREAKER_CHANNELS } from "@headgate/breaker";
import { onTestFinished } from "vitest";

/** Everything that breakers publish until the test ends, in order, under the last word of its channel. */
export function hearBreakers(): [what: string, message: unknown][] {
  const heard: [string, unknown][] = [];
  for (const [what, channel] of Object.entries(BREAKER_CHANNELS)) {
    const note = (message: unknown): void => {
      heard.push([what, message]);
    };
    subscribe(channel, note);
    onTestFinished(() => void unsubscribe(channel, note));
  }
  return heard;
}
