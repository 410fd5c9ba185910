import { subscribe, unsubscribe } from "node:diagnostics_channel";

/** What is done with the messages of a channel. */
export interface Subscription {
  readonly channel: string;
  onMessage(message: unknown): void;
}

/** Listens until the function that is returned is called. */
export function subscribeAll(subscriptions: readonly Subscription[]): () => void {
  for (const { channel, onMessage } of subscriptions) subscribe(channel, onMessage);
  return () => {
    for (const { channel, onMessage } of subscriptions) unsubscribe(channel, onMessage);
  };
}
