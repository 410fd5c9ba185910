import type { LogEntry } from "@headgate/core/admin";
import { formatOverrideKey } from "@headgate/core/admin";

/** Indexes the log: returns a function that finds the newest entry of a kind for a limiter and a subject, or for a breaker and its target. */
export function indexNewestEntries(
  log: readonly LogEntry[],
  kind: LogEntry["kind"],
): (name: string, subject: LogEntry["subject"]) => LogEntry | undefined {
  const newest = new Map<string, LogEntry>();
  for (const entry of log.toReversed()) {
    const { limiter = "", subject } = entry;
    if (entry.kind === kind) newest.set(formatOverrideKey({ limiter, subject }), entry);
  }
  return (limiter, subject) => newest.get(formatOverrideKey({ limiter, subject }));
}
