import { HeadgateError } from "@headgate/core";
import { formatReceived } from "@headgate/core/internal";
import { parseJsonLine } from "./json-line.ts";
import type { Log, LogEntry, LogFields, LogFile } from "./log-entry.ts";
import { END_OF_TIME, MAX_CLIENT } from "./log-entry.ts";
import { parseLogLine, StringCache } from "./log-line.ts";
import type { MalformedLine } from "./malformed-line.ts";
import type { BytesOptions } from "./read-bytes.ts";
import { formatLogName, nameOf, readBytes } from "./read-bytes.ts";
import { ReorderBuffer } from "./reorder-buffer.ts";

/** The most malformed lines whose text is kept. */
const MAX_EXAMPLES = 5;

/** How many bytes of a malformed line are kept. */
const MAX_EXAMPLE = 400;

/** Longer lines are skipped, in bytes. */
const MAX_LINE = 1_048_576;

/** A log whose first 100 malformed lines are mostly JSON is in JSON lines. */
const MIN_JSON_LINES = 100;

/** The entries that are taken from an iterable before the next batch is yielded. */
const BATCH = 1_024;

const EMPTY = Buffer.alloc(0);

const NEWLINE = 0x0a;
const BRACE = 0x7b;

/** Some editors and shells write it at the beginning of UTF-8 files. */
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

export interface LogReaderOptions extends BytesOptions {
  /** The field names, for a log in JSON lines. */
  readonly fields: LogFields | undefined;
  /** Bytes of the heap for requests in the reorder buffer. */
  readonly reorderBytes: number;
}

/** A log that is being read. */
export class LogReader {
  readonly #log: LogFile | Exclude<Log, readonly LogFile[]>;
  readonly #name: string;
  readonly #options: LogReaderOptions;
  readonly #strings = new StringCache();
  readonly #order: ReorderBuffer;
  readonly examples: MalformedLine[] = [];
  lines = 0;
  malformed = 0;
  /** The number of malformed lines in JSON. */
  #jsonLines = 0;
  #hasRequests = false;

  constructor(log: LogFile | Exclude<Log, readonly LogFile[]>, options: LogReaderOptions) {
    this.#log = log;
    this.#name = isFile(log) ? nameOf(log) : "-";
    this.#options = options;
    this.#order = new ReorderBuffer(options.reorderBytes);
  }

  get reordered(): number {
    return this.#order.reordered;
  }

  get late(): number {
    return this.#order.late;
  }

  /** Yields the requests in batches, sorted by time. Throws errors of the log, and the signal's reason. */
  async *requests(): AsyncGenerator<readonly LogEntry[]> {
    if (isFile(this.#log)) yield* this.#readFile(this.#log);
    else yield* this.#readItems(this.#log);
    if (this.#isJsonLog()) throw this.#missingFieldsError();
    this.#order.end();
    yield this.#order.take();
  }

  async *#readItems(
    items: Iterable<unknown> | AsyncIterable<unknown>,
  ): AsyncGenerator<readonly LogEntry[]> {
    for await (const item of items) {
      this.#options.signal.throwIfAborted();
      if (typeof item === "string") {
        const line = Buffer.from(item);
        this.#readLine(line, 0, line.length);
      } else {
        this.lines += 1;
        this.#order.add(requireEntry(item, this.lines));
      }
      if (this.lines % BATCH === 0) yield this.#order.take();
    }
  }

  async *#readFile(file: LogFile): AsyncGenerator<readonly LogEntry[]> {
    let rest = EMPTY;
    // Set while the rest of a line that is too long is skipped.
    let isTooLong = false;
    for await (const chunk of readBytes(file, this.#options)) {
      const newline = chunk.indexOf(NEWLINE);
      if (!isTooLong)
        rest = Buffer.concat([rest, newline < 0 ? chunk : chunk.subarray(0, newline)]);
      if (rest.length > MAX_LINE) {
        isTooLong = true;
        rest = Buffer.from(rest.subarray(0, MAX_EXAMPLE));
      }
      if (newline < 0) continue;
      this.#readRest(rest, isTooLong);
      isTooLong = false;
      const end = this.#readLines(chunk, newline + 1);
      rest = Buffer.from(chunk.subarray(end));
      yield this.#order.take();
    }
    if (rest.length > 0) this.#readRest(rest, isTooLong);
  }

  /** Reads a line that came in several chunks, or the beginning of a line that is too long. */
  #readRest(line: Buffer, isTooLong: boolean): void {
    if (!isTooLong) {
      this.#readLine(line, 0, line.length);
      return;
    }
    this.lines += 1;
    this.#countMalformed(line.toString(), "longer than 1 MiB");
  }

  /** Reads complete lines; returns the end of the last one. */
  #readLines(chunk: Buffer, start: number): number {
    let at = start;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, at);
      if (end === -1) return at;
      this.#readLine(chunk, at, end);
      at = end + 1;
    }
  }

  #readLine(bytes: Buffer, from: number, to: number): void {
    this.lines += 1;
    let start = from;
    let end = to;
    if (this.lines === 1 && bytes.subarray(from, to).indexOf(BYTE_ORDER_MARK) === 0)
      start += BYTE_ORDER_MARK.length;
    while (start < end && isBlank(bytes[start] as number)) start += 1;
    while (end > start && isBlank(bytes[end - 1] as number)) end -= 1;
    if (start === end) return;
    const request = this.#parse(bytes, start, end);
    if (typeof request === "string") {
      this.#countMalformed(
        bytes.toString("utf8", start, Math.min(end, start + MAX_EXAMPLE)),
        request,
      );
      return;
    }
    this.#hasRequests = true;
    this.#order.add(request);
  }

  #parse(bytes: Buffer, start: number, end: number): LogEntry | string {
    const { fields } = this.#options;
    if (fields !== undefined) return parseJsonLine(bytes.toString("utf8", start, end), fields);
    if (bytes[start] !== BRACE) return parseLogLine(bytes, start, end, this.#strings);
    this.#jsonLines += 1;
    if (this.#jsonLines === MIN_JSON_LINES && this.#isJsonLog()) throw this.#missingFieldsError();
    return "JSON in a log of another format";
  }

  /** Whether no request was found, and most lines are JSON. */
  #isJsonLog(): boolean {
    return !this.#hasRequests && this.#jsonLines * 2 > this.malformed;
  }

  #countMalformed(text: string, reason: string): void {
    this.malformed += 1;
    if (this.examples.length >= MAX_EXAMPLES) return;
    this.examples.push({ file: this.#name, number: this.lines, text, reason });
  }

  #missingFieldsError(): HeadgateError {
    return new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `fields must name the fields of the log ${formatLogName(this.#name)}, which is in JSON lines, as in time=ts,client=remote_addr`,
    );
  }
}

/** Whether a log consists of bytes. */
export function isFile(log: unknown): log is LogFile {
  return typeof log === "string" || (typeof log === "object" && log !== null && "pipe" in log);
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

/** Throws `HEADGATE_INVALID_OPTION` unless a value is an entry. */
function requireEntry(value: unknown, number: number): LogEntry {
  const { time, client } = (value ?? {}) as Partial<LogEntry>;
  const isTime = typeof time === "number" && time >= 0 && time < END_OF_TIME;
  const isClient = typeof client === "string" && client !== "" && client.length <= MAX_CLIENT;
  if (isTime && isClient) return value as LogEntry;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    isTime
      ? `entry ${number} of the log: client must be a text of 1 to ${MAX_CLIENT} characters, got ${formatReceived(client)}`
      : `entry ${number} of the log: time must be milliseconds since the epoch, from 1970 to 2199, got ${formatReceived(time)}`,
  );
}
