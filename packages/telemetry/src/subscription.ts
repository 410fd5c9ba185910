import { subscribe, unsubscribe } from "node:diagnostics_channel";

/** A channel, and the function for its messages. */
export interface Subscription {
  readonly channel: string;
  onMessage(message: unknown): void;
}

/** Subscribes until the returned function is called. */
export function subscribeAll(subscriptions: readonly Subscription[]): () => void {
  for (const { channel, onMessage } of subscriptions) subscribe(channel, onMessage);
  return () => {
    for (const { channel, onMessage } of subscriptions) unsubscribe(channel, onMessage);
  };
}
