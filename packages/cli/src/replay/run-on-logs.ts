import { access, constants, open, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setFlagsFromString } from "node:v8";
import type {
  LogCounts,
  LogFile,
  ReadLogOptions,
  Recommendation,
  ReplayResult,
} from "@headgate/replay";
import { renderReport } from "@headgate/replay";
import {
  escapeHidden,
  formatCount,
  formatMalformedLine,
  pluralizeInWords,
} from "@headgate/replay/internal";
import type { CommandContext } from "../command/cli.ts";
import { CommandError, messageOf } from "../command/command-error.ts";
import { writeJson } from "../output/json.ts";
import { createProgress } from "../output/progress.ts";
import type { Style } from "../output/style.ts";
import { styleFor, widthOf } from "../output/style.ts";
import { explainReplayError, parseFields } from "./read-options.ts";

/** The options that all commands on logs have in common. */
export interface ReportOptions {
  readonly fields?: string;
  readonly html?: string;
  readonly json?: true;
}

/** A command on logs. */
interface LogCommand<Result> {
  run(reading: LogReading): Promise<Result>;
  /** Caveats for stderr. */
  warn?(result: Result): readonly string[];
  format(result: Result, style: Style, width: number): string;
}

/** Runs a command on logs, and prints its result and writes the report. Rejects with a `CommandError`. */
export async function runOnLogs<Result extends ReplayResult | Recommendation>(
  logs: readonly string[],
  { fields, html, json }: ReportOptions,
  context: CommandContext,
  { run, warn = () => [], format }: LogCommand<Result>,
): Promise<number> {
  const { stdout, stderr, environment } = context;
  if (html !== undefined) await requireWritable(html);
  const reading = await openLogs(logs, fields, context);
  let result: Result;
  try {
    result = await run(reading);
  } catch (error) {
    throw explainReplayError(error);
  } finally {
    reading.stop();
  }
  reportSkipped(result.log, stderr);
  for (const caveat of warn(result)) stderr.write(`headgate: ${caveat}\n`);
  if (html !== undefined) await writeReport(html, renderReport(result), context);
  if (json) writeJson(stdout, result);
  else stdout.write(format(result, styleFor(stdout, environment), widthOf(stdout)));
  return 0;
}

/** Logs to be read, with a progress bar if stderr is a terminal. */
interface LogReading {
  readonly log: readonly LogFile[];
  readonly options: ReadLogOptions;
  /** Shows the progress of a search in place of that of reading. */
  onWindow(searched: number, windows: number): void;
  stop(): void;
}

/** Opens logs; `-` is standard input. Rejects with a `CommandError`. */
async function openLogs(
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
function reportSkipped(
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

/** Rejects with a `CommandError` if a report cannot be written to the file. It is called first, because a replay may take minutes. Writes nothing. */
async function requireWritable(file: string): Promise<void> {
  try {
    const handle = await open(file, "r+").catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      await access(dirname(file), constants.W_OK);
    });
    await handle?.close();
  } catch (error) {
    throw cannotWriteError(file, error);
  }
}

/** Writes a report, one HTML file. Rejects with a `CommandError`. */
async function writeReport(file: string, page: string, { stderr }: CommandContext): Promise<void> {
  try {
    await writeFile(file, page);
  } catch (error) {
    throw cannotWriteError(file, error);
  }
  stderr.write(`headgate: wrote the report ${escapeHidden(file)}\n`);
}

function cannotWriteError(file: string, error: unknown): CommandError {
  return new CommandError(`cannot write the report ${file}: ${messageOf(error)}`, undefined, {
    cause: error,
  });
}
