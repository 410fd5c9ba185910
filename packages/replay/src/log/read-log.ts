import { HeadgateError } from "@headgate/core";
import { pluralize } from "../format/number.ts";
import type { Log, LogEntry, LogFields } from "./log-entry.ts";
import { isFile, LogReader } from "./log-reader.ts";
import type { MalformedLine } from "./malformed-line.ts";
import { formatMalformedLine } from "./malformed-line.ts";
import { heapBytesFor } from "./memory-budget.ts";
import { nameOf } from "./read-bytes.ts";

/** Options for reading a log. */
export interface ReadLogOptions {
  /** The field names, for logs in JSON lines. Default: the common or combined format. */
  readonly fields?: LogFields | undefined;
  /** Called with the number of bytes read from files and streams, before decompression. */
  readonly onBytes?: ((count: number) => void) | undefined;
  /** Ends the reading; it rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

/** The lines read so far. */
export interface LogCounts {
  /** Paths; `-` is a stream without a path. Empty for entries and lines that come one by one. */
  readonly files: readonly string[];
  /** All lines, including empty ones. */
  readonly lines: number;
  /** Lines that are not requests. */
  readonly malformed: number;
  /** The first few malformed lines of each file. */
  readonly examples: readonly MalformedLine[];
  /** Requests that were out of order and were sorted by time, which does not affect the result. */
  readonly reordered: number;
  /** Requests that were too far out of order to be sorted, and count at the time of the previous one. */
  readonly late: number;
}

/** The requests of logs in batches, sorted by time; equal times keep the order of the files and lines. */
export interface LoggedRequests extends AsyncIterable<readonly LogEntry[]> {
  counts(): LogCounts;
}

/**
 * Reads logs, and merges them. Sorts requests within 120 seconds of log time, a million lines, or as many as fit into a twelfth of the
 * memory. May be read only once. Throws `HEADGATE_INVALID_OPTION`; reading throws `HEADGATE_LOG_UNREADABLE` too, and the reason of the
 * signal.
 */
export function readLog(
  log: Log,
  { fields, onBytes = () => {}, signal = new AbortController().signal }: ReadLogOptions,
): LoggedRequests {
  if (fields !== undefined) requireFields(fields);
  const logs = logsOf(log);
  const reorderBytes = heapBytesFor("waiting") / logs.length;
  const readers = logs.map((one) => new LogReader(one, { fields, reorderBytes, onBytes, signal }));
  const sum = (count: (reader: LogReader) => number) =>
    readers.reduce((all, reader) => all + count(reader), 0);
  return {
    [Symbol.asyncIterator]: () => mergeRequests(readers.map((reader) => reader.requests())),
    counts: () => ({
      files: logs.filter(isFile).map(nameOf),
      lines: sum(({ lines }) => lines),
      malformed: sum(({ malformed }) => malformed),
      examples: readers.flatMap(({ examples }) => examples),
      reordered: sum(({ reordered }) => reordered),
      late: sum(({ late }) => late),
    }),
  };
}

type OneLog = ConstructorParameters<typeof LogReader>[0];

function logsOf(log: Log): readonly OneLog[] {
  // No entries are a log without a request.
  const areFiles = Array.isArray(log) && log.length > 0 && log.every(isFile);
  const logs = areFiles ? log : [log as OneLog];
  const isLog = (one: unknown): boolean =>
    isFile(one) ||
    (typeof one === "object" &&
      one !== null &&
      (Symbol.iterator in one || Symbol.asyncIterator in one));
  if (!logs.every(isLog))
    throw invalidLog("a path, a stream, entries, or a list of paths and streams");
  return logs;
}

function invalidLog(rule: string): HeadgateError {
  return new HeadgateError("HEADGATE_INVALID_OPTION", `log must be ${rule}`);
}

const FIELDS = ["time", "client", "method", "path", "agent"];

/** Throws `HEADGATE_INVALID_OPTION` unless the fields have names, and those of time and client are there. */
function requireFields(fields: LogFields): void {
  const isKnown = Object.entries(fields).every(
    ([name, field]) => FIELDS.includes(name) && typeof field === "string" && field !== "",
  );
  if (isKnown && fields.time !== undefined && fields.client !== undefined) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `fields must name the fields with the time and the client, and may name those with the method, the path and the agent, got ${JSON.stringify(fields)}`,
  );
}

/** The error for logs without any request. */
export function noRequestsError({ files, malformed, examples }: LogCounts): HeadgateError {
  const names = files.map((file) => (file === "-" ? "standard input" : file));
  const where = names.length === 0 ? "the log" : names.join(", ");
  const [first] = examples;
  const why =
    first === undefined
      ? "it is empty"
      : `${pluralize(malformed, "malformed line")}; ${formatMalformedLine(first)}`;
  return new HeadgateError("HEADGATE_LOG_UNREADABLE", `no requests in ${where}: ${why}`);
}

type Requests = AsyncGenerator<readonly LogEntry[]>;

/** A source with the requests that were read from it but not yet yielded. */
interface SourceCursor {
  readonly source: Requests;
  requests: readonly LogEntry[];
  at: number;
}

/** Merges sorted sources; equal times keep the order of the sources. Ends all sources if it is not read to the end. */
export async function* mergeRequests(sources: readonly Requests[]): Requests {
  const [only] = sources;
  if (sources.length === 1 && only !== undefined) {
    yield* only;
    return;
  }
  const heads: SourceCursor[] = sources.map((source) => ({ source, requests: [], at: 0 }));
  try {
    for (const head of [...heads]) await readNext(head, heads);
    while (heads.length > 0) {
      const first = findEarliest(heads);
      yield takeBeforeOthers(first, heads);
      if (first.at === first.requests.length) await readNext(first, heads);
    }
  } finally {
    for (const { source } of heads) await source.return(undefined);
  }
}

/** Reads the next batch; removes a source that has ended. */
async function readNext(head: SourceCursor, heads: SourceCursor[]): Promise<void> {
  do {
    const next = await head.source.next();
    if (next.done) {
      heads.splice(heads.indexOf(head), 1);
      return;
    }
    head.requests = next.value;
    head.at = 0;
  } while (head.requests.length === 0);
}

function findEarliest(heads: readonly SourceCursor[]): SourceCursor {
  let first = heads[0] as SourceCursor;
  for (const head of heads) {
    if (timeOf(head) < timeOf(first)) first = head;
  }
  return first;
}

/** Takes the requests of the earliest source that precede those of all other sources. */
function takeBeforeOthers(
  first: SourceCursor,
  heads: readonly SourceCursor[],
): readonly LogEntry[] {
  const index = heads.indexOf(first);
  // Of equal times, those of earlier sources go first.
  const before = earliestTimeOf(heads.slice(0, index));
  const behind = earliestTimeOf(heads.slice(index + 1));
  const from = first.at;
  const { requests } = first;
  let at = from;
  while (at < requests.length) {
    const { time } = requests[at] as LogEntry;
    if (time >= before || time > behind) break;
    at += 1;
  }
  first.at = at;
  return from === 0 && at === requests.length ? requests : requests.slice(from, at);
}

function earliestTimeOf(heads: readonly SourceCursor[]): number {
  return Math.min(...heads.map(timeOf));
}

function timeOf({ requests, at }: SourceCursor): number {
  return (requests[at] as LogEntry).time;
}
