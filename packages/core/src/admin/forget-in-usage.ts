import type { RedisClient } from "../redis/client-port.ts";
import { readTexts } from "../redis/read-texts.ts";
import { writeBlocked } from "../usage/block-sightings.ts";
import { readBlockList, readTops } from "../usage/read-records.ts";
import {
  blocksKey,
  eraseBlocks,
  KEPT,
  LONG_SPAN,
  readUsageClock,
  topsKey,
  unlist,
  usageKey,
} from "../usage/steps.ts";
import { itemsOf } from "../usage/top-subjects.ts";
import { limiterId } from "../usage/usage-counter.ts";
import type { OperatedStore } from "./admin-counters.ts";

/** How many lists are searched in one call: at most about 5 ms of work for the server. */
const TOGETHER = 16;

/**
 * Erases a subject, in each of its dimensions, from a limiter's lists of usage and from the list of blocks, unless `dryRun`.
 * Resolves with the number of lists that named it. Rejects with the store's errors.
 */
export async function forgetInUsage(
  { store, watch }: OperatedStore,
  limiter: string,
  subject: Readonly<Record<string, string>>,
  dryRun: boolean,
): Promise<number> {
  const { prefix } = store;
  const id = limiterId(limiter);
  const items = Object.entries(subject).flatMap(([dimension, text]) => itemsOf(dimension, text));
  const [now = 0] = await watch.run(store, readUsageClock, { prefix }, usageKey(prefix));
  const spans = spansKept(now);
  const blocked = Object.entries(subject).flatMap(([dimension, text]) =>
    (["hashed", "plain"] as const).map((subjects) =>
      writeBlocked({ limiter, dimension, subject: text, subjects }),
    ),
  );
  if (dryRun) {
    const keys = spans.map((span) => topsKey(prefix, id, span));
    const read = await readTexts(store.owner as RedisClient, [...keys, blocksKey(prefix)]);
    const tops = read.slice(0, -1).filter(({ text }) => text !== undefined && names(text, items));
    return tops.length + (isBlockListed(read.at(-1)?.text ?? "", blocked) ? 1 : 0);
  }
  const erase = { prefix, blocked };
  const [, erased = 0] = await watch.run(store, eraseBlocks, erase, blocksKey(prefix));
  let forgotten = erased;
  for (let at = 0; at < spans.length; at += TOGETHER) {
    const call = { prefix, id, spans: spans.slice(at, at + TOGETHER), now, items };
    const [, count = 0] = await watch.run(store, unlist, call, usageKey(prefix));
    forgotten += count;
  }
  return forgotten;
}

function isBlockListed(text: string, blocked: readonly string[]): boolean {
  const list = readBlockList(text);
  return typeof list !== "string" && list.some(({ who }) => blocked.includes(who));
}

/** Whether a list names one of some subjects. A list that cannot be read is erased completely. */
function names(text: string, items: readonly string[]): boolean {
  const tops = readTops(text);
  if (typeof tops === "string") return true;
  return [tops.used, tops.denied].some(({ subjects }) =>
    subjects.some(({ item }) => items.includes(item)),
  );
}

/** The numbers of all ten-minute spans that may have a list. A process's clock may be seconds ahead of the server's. */
function spansKept(now: number): number[] {
  const first = Math.floor((now - KEPT) / LONG_SPAN) - 1;
  const last = Math.floor(now / LONG_SPAN) + 1;
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}
