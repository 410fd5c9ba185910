import { Failure } from "../command/failure.ts";
import type { FieldNames } from "./fields.ts";
import { InOrder } from "./in-order.ts";
import { parseJsonLine } from "./json-line.ts";
import { KeptTexts } from "./kept-texts.ts";
import type { BytesOptions } from "./log-bytes.ts";
import { nameOf, readBytes } from "./log-bytes.ts";
import type { LineOptions } from "./log-line.ts";
import { parseLogLine } from "./log-line.ts";
import type { LoggedRequest, MalformedLine } from "./logged-request.ts";

/** The most malformed lines whose text is kept. */
const MAX_EXAMPLES = 5;

/** How much of a malformed line is kept. */
const MAX_EXAMPLE = 400;

/** A file with a longer line is not an access log. */
const MAX_LINE = 1_048_576;

const NEWLINE = 0x0a;
const BRACE = 0x7b;

export interface LogFileOptions extends BytesOptions {
  /** For a log in JSON lines. */
  readonly fields: FieldNames | undefined;
  /** Whether methods and paths are read, too. */
  readonly requestLines: boolean;
}

/** A log, while it is read. */
export class LogFile {
  readonly file: string;
  readonly #options: LogFileOptions;
  readonly #line: LineOptions;
  readonly #order = new InOrder();
  readonly examples: MalformedLine[] = [];
  lines = 0;
  malformed = 0;

  constructor(file: string, options: LogFileOptions) {
    this.file = file;
    this.#options = options;
    this.#line = { texts: new KeptTexts(), requestLines: options.requestLines };
  }

  get reordered(): number {
    return this.#order.reordered;
  }

  get late(): number {
    return this.#order.late;
  }

  /** Its requests in the order of their times, many at once. Throws a `Failure`, and the signal's reason. */
  async *requests(): AsyncGenerator<readonly LoggedRequest[]> {
    let rest: readonly Buffer[] = [];
    for await (const chunk of readBytes(this.file, this.#options)) {
      const newline = chunk.indexOf(NEWLINE);
      if (newline === -1) {
        rest = this.#joined([...rest, Buffer.from(chunk)]);
        continue;
      }
      const [line] = this.#joined([...rest, chunk.subarray(0, newline)]);
      this.#readLine(line, 0, line.length);
      const end = this.#readLines(chunk, newline + 1);
      rest = end < chunk.length ? [Buffer.from(chunk.subarray(end))] : [];
      yield this.#order.take();
    }
    const [line] = this.#joined(rest);
    if (line.length > 0) this.#readLine(line, 0, line.length);
    this.#order.end();
    yield this.#order.take();
  }

  /** A line that came in pieces. Throws a `Failure` for one that is too long. */
  #joined(pieces: readonly Buffer[]): [Buffer] {
    const line = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
    if (line.length <= MAX_LINE) return [line];
    throw new Failure(
      `cannot read the log ${nameOf(this.file)}: a line is longer than 1 MiB; is it an access log?`,
    );
  }

  /** Reads whole lines; returns where the last one ends. */
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
    while (start < end && isBlank(bytes[start] as number)) start += 1;
    while (end > start && isBlank(bytes[end - 1] as number)) end -= 1;
    if (start === end) return;
    const request = this.#parse(bytes, start, end);
    if (typeof request !== "string") this.#order.add(request);
    else
      this.#countMalformed(
        bytes.toString("utf8", start, Math.min(end, start + MAX_EXAMPLE)),
        request,
      );
  }

  #parse(bytes: Buffer, start: number, end: number): LoggedRequest | string {
    const { fields } = this.#options;
    if (fields !== undefined) return parseJsonLine(bytes.toString("utf8", start, end), fields);
    if (bytes[start] === BRACE) throw withoutFields(this.file);
    return parseLogLine(bytes, start, end, this.#line);
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

function withoutFields(file: string): Failure {
  return new Failure(
    `the log ${nameOf(file)} is in JSON lines: say which of its fields hold what, as in --fields time=ts,client=remote_addr`,
  );
}
