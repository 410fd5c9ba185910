import type { Channel } from "node:diagnostics_channel";
import { inspect } from "node:util";
import { emitWarning } from "./operator-log.ts";

/** Where Node stores a channel's subscribers: it has no public way to list them. */
interface ChannelInternals {
  readonly _subscribers?: unknown;
  /** Where later versions store some of them. */
  readonly _bypassSubscribers?: unknown;
}

type Subscriber = (message: unknown, channel: string | symbol) => unknown;

/** Channels for which a failing subscriber has been logged. */
const loggedChannels = new Set<string | symbol>();

/**
 * Publishes a message like `channel.publish`, except that a subscriber that throws or rejects is only logged, once per channel.
 * Node would turn it into an uncaught exception, which ends the process. On a version of Node that stores the subscribers
 * elsewhere, `channel.publish` is used.
 */
export function publish(channel: Channel, message: unknown): void {
  const { _subscribers: subscribers, _bypassSubscribers: more } = channel as ChannelInternals;
  if (!Array.isArray(subscribers) || (more !== undefined && more !== null)) {
    channel.publish(message);
    return;
  }
  for (const subscriber of subscribers as readonly Subscriber[]) {
    try {
      const returned = subscriber(message, channel.name);
      if (returned !== undefined)
        Promise.resolve(returned).catch((reason) => logFailure(channel, reason));
    } catch (reason) {
      logFailure(channel, reason);
    }
  }
}

function logFailure({ name }: Channel, reason: unknown): void {
  if (loggedChannels.has(name)) return;
  loggedChannels.add(name);
  emitWarning(
    "HEADGATE_SUBSCRIBER_FAILED",
    `a subscriber of the channel ${String(name)} threw, or its promise rejected; its failures are ignored`,
    formatReason(reason),
  );
}

/** The thrown value may be anything, even something that throws when inspected. */
function formatReason(reason: unknown): string {
  try {
    return inspect(reason);
  } catch {
    return "the thrown value cannot be shown";
  }
}
