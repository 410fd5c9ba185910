import type { Channel } from "node:diagnostics_channel";
import { channel } from "node:diagnostics_channel";
import { inspect } from "node:util";
import { shareInProcess } from "./client-state.ts";
import { emitWarning } from "./operator-log.ts";

/**
 * The names under which Headgate publishes on `node:diagnostics_channel`. The messages are `StoreDown`, `StoreUp`,
 * `StoreServer`, `DegradedDecision`, `PublishedDecision`, `ThresholdReached`, `ListedRequest` and, for the numbers in use,
 * `InUseCount`.
 */
export const CHANNELS = {
  /** A server of the store stopped answering. */
  storeDown: "headgate:store:down",
  /** A server of the store answers again. */
  storeUp: "headgate:store:up",
  /** The state of a server of the store: published when it changes, and about once a second while the server is in use. */
  storeServer: "headgate:store:server",
  /** A decision was taken without the store. */
  degraded: "headgate:decision:degraded",
  /** A decision was taken. */
  decision: "headgate:decision",
  /** A threshold of a limit was reached. */
  threshold: "headgate:threshold",
  /** A request's client was on a list, so it was decided without a limiter. */
  listed: "headgate:request:listed",
  /** How many calls of `wait` are waiting for admission. */
  waiting: "headgate:waiting",
  /** How many concurrency slots are held. */
  slots: "headgate:slots",
} as const;

/** The names of a limiter in published messages. */
export interface LimiterLabels {
  /** The limiter's name. */
  readonly limiter: string;
  /** For the limiter of a Fastify route: the plugin's name, with which the limiter's begins. Otherwise undefined. */
  readonly plugin: string | undefined;
}

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

/** Where Node stores a channel's subscribers: it has no public way to list them. */
interface ChannelInternals {
  readonly _subscribers?: unknown;
  /** Where later versions store some of them. */
  readonly _bypassSubscribers?: unknown;
}

type Subscriber = (message: unknown, channel: string | symbol) => unknown;

/** Channels for which a failing subscriber has been logged. */
const loggedChannels = new Set<string | symbol>();

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

/** Published on `headgate:waiting` and `headgate:slots`. */
export interface InUseCount extends LimiterLabels {
  /**
   * The held slots or waiting calls in this process, in limiters of this name. Excludes those that began before the
   * channel had a subscriber.
   */
  readonly count: number;
}

/** The kinds of use: held slots, or waiting calls. */
type UseKind = "waiting" | "slots";

/** The counts by the limiter's name. */
const inUse = shareInProcess("inUse", () => ({
  waiting: new Map<string, number>(),
  slots: new Map<string, number>(),
}));

const USE_CHANNELS: Readonly<Record<UseKind, Channel>> = {
  waiting: channel(CHANNELS.waiting),
  slots: channel(CHANNELS.slots),
};

/**
 * Adds units to a count, and returns a function that subtracts them, once. Undefined if the channel has no subscriber; then
 * nothing is counted.
 */
export function trackInUse(
  kind: UseKind,
  labels: LimiterLabels,
  units = 1,
): (() => void) | undefined {
  if (!USE_CHANNELS[kind].hasSubscribers) return undefined;
  changeCount(kind, labels, units);
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    changeCount(kind, labels, -units);
  };
}

function changeCount(kind: UseKind, { limiter, plugin }: LimiterLabels, units: number): void {
  const counts = inUse()[kind];
  const count = (counts.get(limiter) ?? 0) + units;
  if (count > 0) counts.set(limiter, count);
  else counts.delete(limiter);
  publish(USE_CHANNELS[kind], { limiter, plugin, count } satisfies InUseCount);
}
