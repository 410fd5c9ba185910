import type { LogEntry } from "@headgate/core/operate";

/** Finds the newest entry of a kind about a limiter and a subject, or about a breaker and its target. */
export function newestEntries(
  log: readonly LogEntry[],
  kind: LogEntry["kind"],
): (name: string, subject: LogEntry["subject"]) => LogEntry | undefined {
  const newest = new Map<string, LogEntry>();
  for (const entry of log.toReversed()) {
    if (entry.kind === kind) newest.set(placeOf(entry.limiter ?? "", entry.subject), entry);
  }
  return (name, subject) => newest.get(placeOf(name, subject));
}

/** Equal for the same limiter and subject. */
export function placeOf(name: string, subject: LogEntry["subject"]): string {
  return JSON.stringify([name, subject === undefined ? null : Object.entries(subject).sort()]);
}
