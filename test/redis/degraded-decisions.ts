import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { DegradedDecision } from "@headgate/core";
import { CHANNELS } from "@headgate/core";

/** Does something, and returns what was published meanwhile of decisions that the store did not take. */
export async function degradedDuring(work: () => Promise<unknown>): Promise<DegradedDecision[]> {
  const published: DegradedDecision[] = [];
  const note = (message: unknown) => {
    published.push(message as DegradedDecision);
  };
  subscribe(CHANNELS.degraded, note);
  try {
    await work();
  } finally {
    unsubscribe(CHANNELS.degraded, note);
  }
  return published;
}

/** Asks for one decision, which the store must not take, and returns why it did not. */
export async function reasonOf(
  request: () => Promise<unknown>,
): Promise<DegradedDecision["reason"]> {
  const [first, ...more] = await degradedDuring(request);
  if (first === undefined || more.length > 0) throw new Error("not one decision was degraded");
  return first.reason;
}
