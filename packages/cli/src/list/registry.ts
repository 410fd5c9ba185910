import type { RegistryProcess, UnreadableRecord } from "@headgate/core/admin";
import { escapeHidden, formatFromNow } from "@headgate/replay/internal";
import type { Column } from "../output/table.ts";
import { formatTime } from "../output/time.ts";

export const PROCESS_COLUMNS: readonly Column[] = [
  { head: "HOST" },
  { head: "PID", align: "right" },
  { head: "VERSION" },
  { head: "STARTED", wraps: true },
  { head: "SEEN", wraps: true },
  { head: "NOT LISTED", align: "right" },
];

/** A process with its host, start and last write. */
export function processRow(
  { host, pid, version, startedAt, seenAt, more }: RegistryProcess,
  now: number,
): readonly string[] {
  return [
    ...[host, String(pid), version, formatTime(startedAt)],
    // `seenAt` is rounded to a second, which may lie ahead of the server's clock.
    ...[formatFromNow(Math.min(seenAt, now), now), String(more)],
  ];
}

/** Explains why a list of the registry is empty. */
export function warnNothingListed(
  stderr: NodeJS.WritableStream,
  kind: "limiter" | "breaker",
  prefix: string,
): void {
  stderr.write(
    `headgate: no ${kind} is listed with the prefix ${prefix}: processes appear ten seconds after their start; check --prefix and the database\n`,
  );
}

const UNREAD_ADVICE: Readonly<Record<UnreadableRecord["reason"], string>> = {
  "other-format": "another version of Headgate wrote it: use the command of that version",
  damaged: "this version cannot read it: update the command, or delete the key",
  missing:
    "the record is missing, for example after an eviction: it is written again within an hour",
  "too-long": "it is longer than any version writes: delete the key",
  "wrong-type": "another application wrote to its key: delete the key",
};

/** Warns about records of the registry that could not be read, without which a list is incomplete. */
export function warnUnread(
  stderr: NodeJS.WritableStream,
  unreadable: readonly UnreadableRecord[],
): void {
  for (const { key, reason } of unreadable) {
    stderr.write(`headgate: warning: cannot read ${escapeHidden(key)}: ${UNREAD_ADVICE[reason]}\n`);
  }
}
