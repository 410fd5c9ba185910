import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { PublishedDecision } from "@headgate/core";
import { CHANNELS } from "@headgate/core";
import { onTestFinished } from "vitest";

/** What is published of decisions until the test ends, in order. */
export function hearDecisions(): PublishedDecision[] {
  const heard: PublishedDecision[] = [];
  const note = (message: unknown): void => {
    heard.push(message as PublishedDecision);
  };
  subscribe(CHANNELS.decision, note);
  onTestFinished(() => void unsubscribe(CHANNELS.decision, note));
  return heard;
}
