import type { DirectoryProcess } from "@headgate/core/operate";
import { formatTable } from "../output/table.ts";
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
  processes: readonly DirectoryProcess[],
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
