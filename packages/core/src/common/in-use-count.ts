import type { Channel } from "node:diagnostics_channel";
import { channel } from "node:diagnostics_channel";
import { CHANNELS } from "./channels.ts";
import { processPart } from "./client-state.ts";
import { publish } from "./publish.ts";
import type { ReportedLimiter } from "./reported-limiter.ts";

/** Published on `headgate:waiting` and `headgate:places`. */
export interface InUseCount extends ReportedLimiter {
  /**
   * How many there are in this process, in limiters of this name. Excludes those that began before the channel had a
   * subscriber.
   */
  readonly count: number;
}

/** What can be in use in a limiter: concurrency slots, or waiting calls. */
type InUseOf = "waiting" | "places";

/** How many are in use, by the limiter's name. */
const inUse = processPart("inUse", () => ({
  waiting: new Map<string, number>(),
  places: new Map<string, number>(),
}));

const IN_USE: Readonly<Record<InUseOf, Channel>> = {
  waiting: channel(CHANNELS.waiting),
  places: channel(CHANNELS.slots),
};

/**
 * Counts this many as in use, and returns a function that ends this, once. Undefined if the channel has no subscriber: then
 * nothing is counted.
 */
export function noteInUse(
  what: InUseOf,
  reported: ReportedLimiter,
  units = 1,
): (() => void) | undefined {
  if (!IN_USE[what].hasSubscribers) return undefined;
  change(what, reported, units);
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    change(what, reported, -units);
  };
}

function change(what: InUseOf, { limiter, plugin }: ReportedLimiter, units: number): void {
  const counts = inUse()[what];
  const count = (counts.get(limiter) ?? 0) + units;
  if (count > 0) counts.set(limiter, count);
  else counts.delete(limiter);
  publish(IN_USE[what], { limiter, plugin, count } satisfies InUseCount);
}
