import { limiterId } from "../limiter/usage/limiter-usage.ts";
import { itemsOf } from "../limiter/usage/top-subjects.ts";

import { unlist } from "../store/unlist.ts";
import { KEPT, LONG_SPAN, readUsageClock, usageKey } from "../store/usage.ts";
import type { OperatedStore } from "./operated-counters.ts";

/** So many lists are looked through in one call: at most about 5 ms for the server. */
const TOGETHER = 16;

/** Erases a subject, in each of its dimensions, from a limiter's lists of usage. Resolves with how many there were that named it. Rejects with what the store says. */
export async function forgetInUsage(
  { store, watch }: OperatedStore,
  limiter: string,
  subject: Readonly<Record<string, string>>,
): Promise<number> {
  const { prefix } = store;
  const id = limiterId(limiter);
  const items = Object.entries(subject).flatMap(([dimension, text]) => itemsOf(dimension, text));
  const [now = 0] = await watch.run(store, readUsageClock, { prefix }, usageKey(prefix));
  const spans = spansKept(now);
  let forgotten = 0;
  for (let at = 0; at < spans.length; at += TOGETHER) {
    const call = { prefix, id, spans: spans.slice(at, at + TOGETHER), now, items };
    const [, count = 0] = await watch.run(store, unlist, call, usageKey(prefix));
    forgotten += count;
  }
  return forgotten;
}

/** The numbers of all ten minutes of which there may be a list. A process may be seconds ahead of the server. */
function spansKept(now: number): number[] {
  const first = Math.floor((now - KEPT) / LONG_SPAN) - 1;
  const last = Math.floor(now / LONG_SPAN) + 1;
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}
