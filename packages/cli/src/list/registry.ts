import type { RegistryProcess, UnreadableRecord } from "@headgate/core/admin";
import { formatTable } from "../output/table.ts";
import { escapeHidden } from "../output/terminal-text.ts";
import { formatFromNow, formatTime } from "../output/time.ts";

const COLUMNS = [
  { head: "HOST" },
  { head: "PID", align: "right" },
  { head: "VERSION" },
  { head: "STARTED", wraps: true },
  { head: "SEEN", wraps: true },
  { head: "NOT LISTED", align: "right" },
] as const;

/** Processes as a table: where they are, since when, and when they wrote last. Empty where there are none. */
export function formatProcesses(
  processes: readonly RegistryProcess[],
  now: number,
  width: number,
): string {
  if (processes.length === 0) return "";
  const rows = processes.map(({ host, pid, version, startedAt, seenAt, more }) => [
    ...[host, String(pid), version, formatTime(startedAt)],
    // To the second, and the server's clock may have just passed it.
    ...[formatFromNow(Math.min(seenAt, now), now), String(more)],
  ]);
  return formatTable(COLUMNS, rows, width);
}

const UNREAD_ADVICE: Readonly<Record<UnreadableRecord["why"], string>> = {
  "other-format": "another version of Headgate wrote it: use that one's command",
  damaged: "this version cannot read it: update the command, or delete the key",
  missing: "it is gone, as after an eviction: it is written again within an hour",
  "too-long": "has more than any version writes: delete the key",
  "wrong-type": "another application wrote to its key: delete the key",
};

/** Says which records of the directory could not be read: then the rest is not whole. */
export function warnUnread(
  stderr: NodeJS.WritableStream,
  unread: readonly UnreadableRecord[],
): void {
  for (const { key, why } of unread) {
    stderr.write(`headgate: warning: cannot read ${escapeHidden(key)}: ${UNREAD_ADVICE[why]}\n`);
  }
}
