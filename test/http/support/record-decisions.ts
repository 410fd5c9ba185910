import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { PublishedDecision } from "@headgate/core";
import { CHANNELS } from "@headgate/core";
import { onTestFinished } from "vitest";

/** Records the published decisions until the test ends, in order. */
export function recordDecisions(): PublishedDecision[] {
  const published: PublishedDecision[] = [];
  const note = (message: unknown): void => {
    published.push(message as PublishedDecision);
  };
  subscribe(CHANNELS.decision, note);
  onTestFinished(() => void unsubscribe(CHANNELS.decision, note));
  return published;
}
