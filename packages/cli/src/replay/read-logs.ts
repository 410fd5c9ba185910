import { stat } from "node:fs/promises";
import { setFlagsFromString } from "node:v8";
import type { LogCounts, LogFile, ReadLogOptions } from "@headgate/replay";
import {
  escapeHidden,
  formatCount,
  formatMalformedLine,
  pluralizeInWords,
} from "@headgate/replay/internal";
import type { CommandContext } from "../command/cli.ts";
import { CommandError } from "../command/command-error.ts";
import { createProgress } from "../output/progress.ts";
import { parseFields } from "./read-options.ts";

/** Logs to be read, with a progress bar if stderr is a terminal. */
interface LogReading {
  readonly log: readonly LogFile[];
  readonly options: ReadLogOptions;
  /** Shows the progress of a search in place of that of reading. */
  onWindow(searched: number, windows: number): void;
  stop(): void;
}

/** Opens logs; `-` is standard input. Rejects with a `CommandError`. */
export async function openLogs(
  logs: readonly string[],
  fields: string | undefined,
  { stdin, stderr, signal }: CommandContext,
): Promise<LogReading> {
  if (logs.filter((log) => log === "-").length > 1) {
    throw new CommandError("standard input (-) can be read once only");
  }
  // Most objects are short-lived. Without this flag, the heap would grow to several times the live data.
  setFlagsFromString("--heap-growing-percent=100");
  const options = { signal, fields: fields === undefined ? undefined : parseFields(fields) };
  const progress = createProgress(stderr, "{bar} {percentage}% | {eta_formatted} left");
  const total = await totalBytesOf(logs);
  if (total > 0) progress.start(total);
  let read = 0;
  const onBytes = (count: number): void => {
    read += count;
    progress.update(read);
  };
  return {
    log: logs.map((log) => (log === "-" ? (stdin as LogFile) : log)),
    options: total > 0 ? { ...options, onBytes } : options,
    onWindow(searched, windows) {
      if (searched > 0) return progress.update(searched);
      progress.stop();
      progress.start(windows);
    },
    stop: () => progress.stop(),
  };
}

/** The size of the logs in bytes; 0 if it is not known before they are read. */
async function totalBytesOf(logs: readonly string[]): Promise<number> {
  try {
    const found = await Promise.all(logs.map((log) => stat(log)));
    return found.every((one) => one.isFile()) ? found.reduce((all, { size }) => all + size, 0) : 0;
  } catch {
    // Standard input, or a log that cannot be read, which the reading reports.
    return 0;
  }
}

/** Reports the first skipped lines, and how many there are. */
export function reportSkipped(
  { lines, malformed, examples }: LogCounts,
  stderr: NodeJS.WritableStream,
): void {
  if (malformed === 0) return;
  for (const one of examples) {
    stderr.write(`headgate: ${escapeHidden(one.file)}: ${formatMalformedLine(one)}\n`);
  }
  const skipped = `${formatCount(malformed)} of ${pluralizeInWords(lines, "line")}`;
  stderr.write(`headgate: skipped ${skipped}\n`);
}
