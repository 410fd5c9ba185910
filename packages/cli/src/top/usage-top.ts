import type { Duration } from "@headgate/core";
import type { TopSubject, UnreadableRecord } from "@headgate/core/admin";
import { hashSubject, readUsage } from "@headgate/core/admin";
import { CommandError, EXIT } from "../command/command-error.ts";
import type { Connection } from "../connect/connection.ts";
import type { SubjectOrder, UsageTop } from "./top.ts";

/** Options of `readUsageTop`. */
export interface UsageQuery {
  readonly limiter: string;
  readonly by: SubjectOrder;
  readonly span: Duration;
  /** Selects a single subject. */
  readonly subject: string | undefined;
}

/** Reads the top subjects of a limiter from usage; undefined if no usage is recorded for it. Rejects with a `CommandError`, and like `readUsage`. */
export async function readUsageTop(
  { store, timeoutMs }: Pick<Connection, "store" | "timeoutMs">,
  { limiter, by, span, subject }: UsageQuery,
): Promise<UsageTop | undefined> {
  const { at, limiters, unreadable } = await readUsage(store, {
    timeout: timeoutMs,
    limiter,
    span,
  });
  requireReadable(unreadable);
  const [one] = limiters;
  if (one === undefined) return undefined;
  const { from, [by]: list } = one.subjects;
  const { top, total, maxUnlisted } = list;
  const isWanted = (found: TopSubject): boolean =>
    subject === undefined || found.subject === subject || found.hash === hashSubject(subject);
  return {
    limiter,
    source: "usage",
    by,
    at,
    from,
    total: one.total,
    decisions: total,
    unlisted: maxUnlisted,
    subjects: top.filter(isWanted),
  };
}

/** Throws a `CommandError` if a record could not be read. */
export function requireReadable([first]: readonly UnreadableRecord[]): void {
  if (first === undefined) return;
  throw new CommandError(
    `${first.key} cannot be read (${first.reason}): read it with the version of Headgate that wrote it, or delete the key`,
    EXIT.store,
  );
}
