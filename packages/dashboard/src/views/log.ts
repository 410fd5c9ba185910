import type { LogEntry } from "@headgate/core/admin";
import { formatActor, formatOverrideKey } from "@headgate/core/admin";
import type { LogRow, LogView } from "../api.ts";
import type { FleetReader } from "../fleet-reader.ts";
import { formatLoggedState, textOf } from "../format/state.ts";
import { badRequest } from "../serve/http-error.ts";

const MAX_ROWS = 100;

/** Operators' actions. `before` is the `next` of the previous page. */
export async function buildLogView(reader: FleetReader, before: string | null): Promise<LogView> {
  const [{ entries, unreadable }, at] = await Promise.all([reader.loadLog(), reader.serverTime()]);
  const start = startOf(entries, before);
  const rows = entries.slice(start, start + MAX_ROWS);
  const isLast = start + MAX_ROWS >= entries.length;
  return {
    at,
    rows: rows.map(toLogRow),
    next: isLast ? null : cursorAfter(entries, start + MAX_ROWS),
    unreadable,
  };
}

/** An entry of the log as a row. */
export function toLogRow(entry: LogEntry): LogRow {
  const { at, kind, limiter, subject, network, reason, before, after } = entry;
  return {
    at: at.getTime(),
    kind,
    limiter: textOf(limiter),
    subject,
    network: textOf(network),
    by: formatActor(entry),
    reason: textOf(reason),
    before: formatLoggedState(kind, before),
    after: formatLoggedState(kind, after),
  };
}

/** A time, and how many entries of the same time come before: entries are added while a visitor pages through the log. */
function cursorAfter(entries: readonly LogEntry[], index: number): string {
  const at = entries[index - 1]?.at.getTime() ?? 0;
  const shown = entries.slice(0, index).filter((entry) => entry.at.getTime() === at).length;
  return `${at}.${shown}`;
}

function startOf(entries: readonly LogEntry[], before: string | null): number {
  if (before === null) return 0;
  const [, at, shown] = /^(\d{1,16})(?:\.(\d{1,4}))?$/.exec(before) ?? [];
  if (at === undefined) throw badRequest("before must be the next field of another response");
  const first = entries.findIndex((entry) => entry.at.getTime() <= Number(at));
  if (first === -1) return entries.length;
  const isSame = entries[first]?.at.getTime() === Number(at);
  return isSame && shown !== undefined ? first + Number(shown) : first;
}

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
