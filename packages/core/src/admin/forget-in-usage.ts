import { formatBlockedSubject } from "../usage/block-sightings.ts";
import { usageKey } from "../usage/layout.ts";
import { eraseSubjects, readUsageClock } from "../usage/operations.ts";
import { membersOf } from "../usage/top-subjects.ts";
import type { AdminStore } from "./admin-counters.ts";

/**
 * Erases a subject, in each of its dimensions, from a limiter's lists of usage and from the blocks, unless `isDryRun`. Resolves
 * with the number of lists that named it. Rejects with the store's errors.
 */
export async function forgetInUsage(
  { store, monitor }: AdminStore,
  limiter: string,
  subject: Readonly<Record<string, string>>,
  isDryRun: boolean,
): Promise<number> {
  const { prefix } = store;
  const key = usageKey(prefix);
  const [now = 0] = await monitor.run(store, readUsageClock, { prefix }, key);
  const dimensions = Object.entries(subject);
  const blocked = dimensions.flatMap(([dimension, text]) =>
    (["hashed", "plain"] as const).map((subjects) =>
      formatBlockedSubject({ limiter, dimension, subject: text, subjects }),
    ),
  );
  const members = dimensions.flatMap(([dimension, text]) => membersOf(dimension, text));
  const call = { prefix, limiter, now, members, blocked, isDryRun };
  const [, count = 0] = await monitor.run(store, eraseSubjects, call, key);
  return count;
}
