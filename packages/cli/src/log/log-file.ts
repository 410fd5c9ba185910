import { CommandError } from "../command/command-error.ts";
import type { FieldNames } from "./fields.ts";
import { parseJsonLine } from "./json-line.ts";
import type { BytesOptions } from "./log-bytes.ts";
import { formatFileName, readBytes } from "./log-bytes.ts";
import type { LineOptions } from "./log-line.ts";
import { parseLogLine } from "./log-line.ts";
import type { LoggedRequest, MalformedLine } from "./logged-request.ts";
import { ReorderBuffer } from "./reorder-buffer.ts";
import { StringCache } from "./string-cache.ts";

/** The most malformed lines whose text is kept. */
const MAX_EXAMPLES = 5;

/** How many bytes of a malformed line are kept. */
const MAX_EXAMPLE = 400;

/** Longer lines are skipped, in bytes. */
const MAX_LINE = 1_048_576;

/** A log whose first 100 malformed lines are mostly JSON is in JSON lines. */
const MIN_JSON_LINES = 100;

const EMPTY = Buffer.alloc(0);

const NEWLINE = 0x0a;
const BRACE = 0x7b;

/** Some editors and shells write it at the beginning of UTF-8 files. */
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

export interface LogFileOptions extends BytesOptions {
  /** The field names, for a log in JSON lines. */
  readonly fields: FieldNames | undefined;
  /** Whether methods and paths are read, too. */
  readonly requestLines: boolean;
  /** Bytes of the heap for requests in the reorder buffer. */
  readonly reorderBytes: number;
}

/** A log that is being read. */
export class LogFile {
  readonly file: string;
  readonly #options: LogFileOptions;
  readonly #line: LineOptions;
  readonly #order: ReorderBuffer;
  readonly examples: MalformedLine[] = [];
  lines = 0;
  malformed = 0;
  /** The number of malformed lines in JSON. */
  #jsonLines = 0;
  #hasRequests = false;

  constructor(file: string, options: LogFileOptions) {
    this.file = file;
    this.#options = options;
    this.#order = new ReorderBuffer(options.reorderBytes);
    this.#line = { strings: new StringCache(), requestLines: options.requestLines };
  }

  get reordered(): number {
    return this.#order.reordered;
  }

  get late(): number {
    return this.#order.late;
  }

  /** Yields the requests in batches, sorted by time. Throws a `CommandError`, and the signal's reason. */
  async *requests(): AsyncGenerator<readonly LoggedRequest[]> {
    let rest = EMPTY;
    // Set while the rest of a line that is too long is skipped.
    let isTooLong = false;
    for await (const chunk of readBytes(this.file, this.#options)) {
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
    if (this.#isJsonLog()) throw missingFieldsError(this.file);
    this.#order.end();
    yield this.#order.take();
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

  #parse(bytes: Buffer, start: number, end: number): LoggedRequest | string {
    const { fields } = this.#options;
    if (fields !== undefined) return parseJsonLine(bytes.toString("utf8", start, end), fields);
    if (bytes[start] !== BRACE) return parseLogLine(bytes, start, end, this.#line);
    this.#jsonLines += 1;
    if (this.#jsonLines === MIN_JSON_LINES && this.#isJsonLog())
      throw missingFieldsError(this.file);
    return "JSON in a log of another format";
  }

  /** Whether no request was found, and most lines are JSON. */
  #isJsonLog(): boolean {
    return !this.#hasRequests && this.#jsonLines * 2 > this.malformed;
  }

  #countMalformed(text: string, reason: string): void {
    this.malformed += 1;
    if (this.examples.length >= MAX_EXAMPLES) return;
    this.examples.push({ file: this.file, number: this.lines, text, reason });
  }
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

function missingFieldsError(file: string): CommandError {
  return new CommandError(
    `the log ${formatFileName(file)} is in JSON lines: name its fields, as in --fields time=ts,client=remote_addr`,
  );
}
