import { subscribe, unsubscribe } from "node:diagnostics_channel";

/** What is done with the messages of a channel. */
export interface Subscription {
  readonly channel: string;
  hear(message: unknown): void;
}

/** Listens until the function that is returned is called. */
export function listen(subscriptions: readonly Subscription[]): () => void {
  for (const { channel, hear } of subscriptions) subscribe(channel, hear);
  return () => {
    for (const { channel, hear } of subscriptions) unsubscribe(channel, hear);
  };
}
