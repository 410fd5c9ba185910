import type { RegistryProcess, UnreadableRecord } from "@headgate/core/admin";
import { escapeHidden, formatFromNow } from "@headgate/replay/internal";
import { formatTable } from "../output/table.ts";
import { formatTime } from "../output/time.ts";

const COLUMNS = [
  { head: "HOST" },
  { head: "PID", align: "right" },
  { head: "VERSION" },
  { head: "STARTED", wraps: true },
  { head: "SEEN", wraps: true },
  { head: "NOT LISTED", align: "right" },
] as const;

/** Formats a table of processes with their host, start and last write. Empty if there are none. */
export function formatProcesses(
  processes: readonly RegistryProcess[],
  now: number,
  width: number,
): string {
  if (processes.length === 0) return "";
  const rows = processes.map(({ host, pid, version, startedAt, seenAt, more }) => [
    ...[host, String(pid), version, formatTime(startedAt)],
    // `seenAt` is rounded to a second, which may lie ahead of the server's clock.
    ...[formatFromNow(Math.min(seenAt, now), now), String(more)],
  ]);
  return formatTable(COLUMNS, rows, width);
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
