import { stat } from "node:fs/promises";
import { CommandError, messageOf } from "../command/command-error.ts";
import type { FieldNames } from "./fields.ts";
import { formatFileName } from "./log-bytes.ts";
import { LogFile } from "./log-file.ts";
import type { LoggedRequest, MalformedLine } from "./logged-request.ts";
import { heapBytesFor } from "./memory-budget.ts";
import { mergeRequests } from "./merge-requests.ts";

export interface ReadOptions {
  /** The stream that `-` stands for. */
  readonly stdin: NodeJS.ReadableStream;
  readonly signal: AbortSignal;
  /** The field names, for logs in JSON lines. Default: the common or combined format. */
  readonly fields?: FieldNames | undefined;
  /** Whether to read methods and paths too, which takes time. Default true. */
  readonly requestLines?: boolean | undefined;
  /** Called with the number of bytes read, before decompression. */
  readonly onBytes?: ((count: number) => void) | undefined;
}

/** Counts of the lines read so far. */
export interface LogCounts {
  /** All lines, including empty ones. */
  readonly lines: number;
  /** Lines that are not requests. */
  readonly malformed: number;
  /** The first few malformed lines of each file. */
  readonly examples: readonly MalformedLine[];
  /** Requests that were out of order and were sorted. */
  readonly reordered: number;
  /** Requests that came too late to be sorted, and got the time of the previous one. */
  readonly late: number;
}

/** The requests of logs in batches, sorted by time; equal times keep the order of the files and lines. */
export interface LoggedRequests extends AsyncIterable<readonly LoggedRequest[]> {
  counts(): LogCounts;
}

/**
 * Reads access logs in the common or combined format, or in JSON lines, compressed with gzip or not, and merges them; `-` is standard input.
 * Sorts requests within 120 seconds of log time, a million lines, or as many as fit into a twelfth of the memory. May be read only once.
 * Reading throws a `CommandError` for an unreadable file, and the signal's reason.
 */
export function readRequests(files: readonly string[], options: ReadOptions): LoggedRequests {
  const { fields, requestLines = true, onBytes = () => {}, stdin, signal } = options;
  if (files.filter((file) => file === "-").length > 1) {
    throw new CommandError("standard input (-) can be read once only");
  }
  const reorderBytes = heapBytesFor("waiting") / files.length;
  const logs = files.map(
    (file) => new LogFile(file, { fields, requestLines, reorderBytes, onBytes, stdin, signal }),
  );
  const sum = (count: (log: LogFile) => number) => logs.reduce((all, log) => all + count(log), 0);
  return {
    [Symbol.asyncIterator]: () => mergeRequests(logs.map((log) => log.requests())),
    counts: () => ({
      lines: sum(({ lines }) => lines),
      malformed: sum(({ malformed }) => malformed),
      examples: logs.flatMap(({ examples }) => examples),
      reordered: sum(({ reordered }) => reordered),
      late: sum(({ late }) => late),
    }),
  };
}

/** The size of the logs in bytes; undefined if it is unknown before reading. Rejects with a `CommandError`. */
export async function totalBytesOf(files: readonly string[]): Promise<number | undefined> {
  let bytes = 0;
  for (const file of files) {
    if (file === "-") return undefined;
    try {
      const found = await stat(file);
      if (!found.isFile()) return undefined;
      bytes += found.size;
    } catch (error) {
      throw new CommandError(
        `cannot read the log ${formatFileName(file)}: ${messageOf(error)}`,
        undefined,
        {
          cause: error,
        },
      );
    }
  }
  return bytes;
}
