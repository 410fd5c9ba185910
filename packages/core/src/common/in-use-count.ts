import type { Channel } from "node:diagnostics_channel";
import { channel } from "node:diagnostics_channel";
import { CHANNELS } from "./channels.ts";
import { shareInProcess } from "./client-state.ts";
import type { LimiterLabels } from "./limiter-labels.ts";
import { publish } from "./publish.ts";

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
