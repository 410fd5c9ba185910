import type { Channel } from "node:diagnostics_channel";
import { inspect } from "node:util";
import { warn } from "./notices.ts";

/** Where Node keeps a channel's subscribers: it has no public way to list them. */
interface Subscribed {
  readonly _subscribers?: unknown;
  /** Where later versions keep some of them. */
  readonly _bypassSubscribers?: unknown;
}

type Subscriber = (message: unknown, channel: string | symbol) => unknown;

/** The channels of which it was logged that a subscriber failed. */
const logged = new Set<string | symbol>();

/**
 * Publishes a message as `channel.publish` does, except that a subscriber that throws, or whose promise rejects, is only logged,
 * once for a channel: Node would make an uncaught exception of it, which ends the process. A version of Node that keeps the
 * subscribers elsewhere publishes in its own way.
 */
export function publish(channel: Channel, message: unknown): void {
  const { _subscribers: subscribers, _bypassSubscribers: more } = channel as Subscribed;
  if (!Array.isArray(subscribers) || (more !== undefined && more !== null)) {
    channel.publish(message);
    return;
  }
  for (const subscriber of subscribers as readonly Subscriber[]) {
    try {
      const returned = subscriber(message, channel.name);
      if (returned !== undefined) Promise.resolve(returned).catch((reason) => log(channel, reason));
    } catch (reason) {
      log(channel, reason);
    }
  }
}

function log({ name }: Channel, reason: unknown): void {
  if (logged.has(name)) return;
  logged.add(name);
  warn(
    "HEADGATE_SUBSCRIBER_FAILED",
    `a subscriber of the channel ${String(name)} threw, or its promise rejected; its failures are ignored`,
    describe(reason),
  );
}

/** What was thrown may be anything, also what throws when it is looked at. */
function describe(reason: unknown): string {
  try {
    return inspect(reason);
  } catch {
    return "what it threw cannot be shown";
  }
}
