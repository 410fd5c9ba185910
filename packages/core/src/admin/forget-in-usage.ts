import type { RedisClient } from "../redis/client-port.ts";
import { readStrings } from "../redis/read-strings.ts";
import { formatBlockedSubject } from "../usage/block-sightings.ts";
import {
  blocksKey,
  eraseBlocks,
  eraseSubjects,
  KEPT_MICROS,
  readUsageClock,
  TEN_MINUTES_MICROS,
  topSubjectsKey,
  usageKey,
} from "../usage/operations.ts";
import { parseBlockList, parseTopSubjects } from "../usage/parse-records.ts";
import { itemsOf } from "../usage/top-subjects.ts";
import { limiterId } from "../usage/usage-counter.ts";
import type { AdminStore } from "./admin-counters.ts";

/** How many lists are searched in one call: at most about 5 ms of work for the server. */
const LISTS_PER_CALL = 16;

/**
 * Erases a subject, in each of its dimensions, from a limiter's lists of usage and from the list of blocks, unless `dryRun`.
 * Resolves with the number of lists that named it. Rejects with the store's errors.
 */
export async function forgetInUsage(
  { store, monitor }: AdminStore,
  limiter: string,
  subject: Readonly<Record<string, string>>,
  dryRun: boolean,
): Promise<number> {
  const { prefix } = store;
  const id = limiterId(limiter);
  const items = Object.entries(subject).flatMap(([dimension, text]) => itemsOf(dimension, text));
  const [now = 0] = await monitor.run(store, readUsageClock, { prefix }, usageKey(prefix));
  const spans = storedSpans(now);
  const blocked = Object.entries(subject).flatMap(([dimension, text]) =>
    (["hashed", "plain"] as const).map((subjects) =>
      formatBlockedSubject({ limiter, dimension, subject: text, subjects }),
    ),
  );
  if (dryRun) {
    const keys = spans.map((span) => topSubjectsKey(prefix, id, span));
    const read = await readStrings(store.owner as RedisClient, [...keys, blocksKey(prefix)]);
    const tops = read
      .slice(0, -1)
      .filter(({ text }) => text !== undefined && namesAny(text, items));
    return tops.length + (isBlockListed(read.at(-1)?.text ?? "", blocked) ? 1 : 0);
  }
  const erase = { prefix, blocked };
  const [, erased = 0] = await monitor.run(store, eraseBlocks, erase, blocksKey(prefix));
  let forgotten = erased;
  for (let at = 0; at < spans.length; at += LISTS_PER_CALL) {
    const call = { prefix, id, spans: spans.slice(at, at + LISTS_PER_CALL), now, items };
    const [, count = 0] = await monitor.run(store, eraseSubjects, call, usageKey(prefix));
    forgotten += count;
  }
  return forgotten;
}

function isBlockListed(text: string, blocked: readonly string[]): boolean {
  const list = parseBlockList(text);
  return (
    typeof list !== "string" && list.some(({ blockedSubject }) => blocked.includes(blockedSubject))
  );
}

/** Whether a list names one of some subjects. A list that cannot be read is erased completely. */
function namesAny(text: string, items: readonly string[]): boolean {
  const tops = parseTopSubjects(text);
  if (typeof tops === "string") return true;
  return [tops.used, tops.denied].some(({ subjects }) =>
    subjects.some(({ item }) => items.includes(item)),
  );
}

/** The numbers of all ten-minute spans that may have a list. A process's clock may be seconds ahead of the server's. */
function storedSpans(now: number): number[] {
  const first = Math.floor((now - KEPT_MICROS) / TEN_MINUTES_MICROS) - 1;
  const last = Math.floor(now / TEN_MINUTES_MICROS) + 1;
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}
