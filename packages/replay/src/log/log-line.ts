import type { LogEntry } from "./log-entry.ts";
import { MAX_CLIENT } from "./log-entry.ts";
import { LOG_TIME_BYTES, parseLogTime } from "./log-time.ts";

const SPACE = 0x20;
const QUOTE = 0x22;
const DASH = 0x2d;
const SLASH = 0x2f;
const ZERO = 0x30;
const NINE = 0x39;
const OPEN = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE = 0x5d;

const MAX_METHOD = 32;

const UNKNOWN_FORMAT = "neither the common nor the combined format";

/** The positions of the parts of a line: from the first byte up to, but not including, the end. */
interface LineParts {
  clientEnd: number;
  timeStart: number;
  timeEnd: number;
  requestStart: number;
  requestEnd: number;
  /** The second quoted field after the size, the agent of the combined format; both 0 if there is none. */
  agentStart: number;
  agentEnd: number;
}

/** Shared by all lines to avoid allocations: callers copy from it. */
const parts: LineParts = {
  clientEnd: 0,
  timeStart: 0,
  timeEnd: 0,
  requestStart: 0,
  requestEnd: 0,
  agentStart: 0,
  agentEnd: 0,
};

/**
 * Parses a line of an access log within a buffer, in the common format or in the combined format, which adds the referrer and the
 * agent. More fields may follow, because many servers log them. A line with an unclosed quote is truncated. Returns a string with the
 * reason if the line is malformed. https://httpd.apache.org/docs/2.4/logs.html#accesslog
 */
export function parseLogLine(
  bytes: Buffer,
  start: number,
  end: number,
  strings: StringCache,
): LogEntry | string {
  if (!findParts(bytes, start, end)) return UNKNOWN_FORMAT;
  const { clientEnd, timeStart, timeEnd, requestStart, requestEnd, agentStart, agentEnd } = parts;
  const agent = agentEnd > agentStart ? { agent: strings.get(bytes, agentStart, agentEnd) } : {};
  const isTime = timeEnd - timeStart === LOG_TIME_BYTES;
  const time = isTime ? parseLogTime(bytes, timeStart) : undefined;
  if (time === undefined) return "no such time";
  if (clientEnd - start > MAX_CLIENT || isDash(bytes, start, clientEnd)) return "no client";
  const methodEnd = endOfMethod(bytes, requestStart, requestEnd);
  // Nearly all targets are paths; the others are rare enough for a regular expression.
  if (bytes[methodEnd + 1] !== SLASH || methodEnd + 1 >= requestEnd) {
    const requestLine = parseRequestLine(bytes.toString("utf8", requestStart, requestEnd));
    if (requestLine === undefined) return "no HTTP request";
    return { time, client: strings.get(bytes, start, clientEnd), ...requestLine, ...agent };
  }
  return {
    time,
    client: strings.get(bytes, start, clientEnd),
    method: strings.get(bytes, requestStart, methodEnd),
    path: strings.get(bytes, methodEnd + 1, endOfTarget(bytes, methodEnd + 1, requestEnd)),
    ...agent,
  };
}

/** Finds the parts of a line; false if it has another format. */
function findParts(bytes: Buffer, start: number, end: number): boolean {
  const clientEnd = indexOf(bytes, SPACE, start, end);
  const open = indexOf(bytes, OPEN, clientEnd + 1, end);
  const identityEnd = indexOf(bytes, SPACE, clientEnd + 1, open);
  // The user may hold spaces, and stands between two.
  const isNamed =
    clientEnd > start &&
    identityEnd > clientEnd + 1 &&
    identityEnd < open - 2 &&
    bytes[open - 1] === SPACE;
  if (!isNamed) return false;
  const close = indexOf(bytes, CLOSE, open + 1, end);
  if (close + 3 > end || bytes[close + 1] !== SPACE || bytes[close + 2] !== QUOTE) return false;
  const requestEnd = endOfQuoted(bytes, close + 3, end);
  const statusEnd = endOfStatus(bytes, requestEnd + 1, end);
  const sizeEnd = endOfSize(bytes, statusEnd, end);
  if (sizeEnd === -1 || !areFields(bytes, sizeEnd, end)) return false;
  parts.clientEnd = clientEnd;
  parts.timeStart = open + 1;
  parts.timeEnd = close;
  parts.requestStart = close + 3;
  parts.requestEnd = requestEnd;
  return true;
}

/** The position of a byte, or `end`. */
function indexOf(bytes: Buffer, byte: number, start: number, end: number): number {
  for (let i = start; i < end; i += 1) {
    if (bytes[i] === byte) return i;
  }
  return end;
}

/** The position of the closing quote of the text at `start`, or `end`. */
function endOfQuoted(bytes: Buffer, start: number, end: number): number {
  for (let i = start; i < end; i += 1) {
    const byte = bytes[i];
    if (byte === QUOTE) return i;
    if (byte === BACKSLASH) i += 1;
  }
  return end;
}

/** The end of ` 200` or ` -`; -1 if there is neither. */
function endOfStatus(bytes: Buffer, at: number, end: number): number {
  if (at >= end || bytes[at] !== SPACE) return -1;
  if (bytes[at + 1] === DASH) return at + 2;
  const areDigits = isDigit(bytes[at + 1]) && isDigit(bytes[at + 2]) && isDigit(bytes[at + 3]);
  return areDigits && at + 4 <= end ? at + 4 : -1;
}

/** The end of ` 2326` or ` -`; -1 if there is neither. */
function endOfSize(bytes: Buffer, at: number, end: number): number {
  if (at === -1 || at + 1 >= end || bytes[at] !== SPACE) return -1;
  if (bytes[at + 1] === DASH) return at + 2;
  let i = at + 1;
  while (i < end && isDigit(bytes[i])) i += 1;
  return i > at + 1 ? i : -1;
}

/** Whether the rest consists of fields, quoted or not, each after a space. */
function areFields(bytes: Buffer, start: number, end: number): boolean {
  let at = start;
  let quoted = 0;
  parts.agentStart = 0;
  parts.agentEnd = 0;
  while (at < end) {
    if (bytes[at] !== SPACE || at + 1 >= end) return false;
    if (bytes[at + 1] === QUOTE) {
      const from = at + 2;
      at = endOfQuoted(bytes, from, end) + 1;
      if (at > end) return false;
      quoted += 1;
      if (quoted === 2) {
        parts.agentStart = from;
        parts.agentEnd = at - 1;
      }
    } else {
      const from = at + 1;
      at = indexOf(bytes, SPACE, from, end);
      if (at === from) return false;
    }
  }
  return true;
}

/** The end of the method, or `end`. */
function endOfMethod(bytes: Buffer, start: number, end: number): number {
  const most = Math.min(end, start + MAX_METHOD);
  let at = start;
  while (at < most && isLetter(bytes[at] as number)) at += 1;
  return at > start && bytes[at] === SPACE ? at : end;
}

/** The end of the target, before an optional version such as ` HTTP/1.1` or ` HTTP/2`. */
function endOfTarget(bytes: Buffer, start: number, end: number): number {
  for (const length of VERSION_BYTES) {
    const at = end - length;
    if (at > start && isVersion(bytes, at, end)) return at;
  }
  return end;
}

const HTTP = Buffer.from(" HTTP/");
const VERSION_BYTES = [HTTP.length + 3, HTTP.length + 1] as const;
const POINT = 0x2e;

function isVersion(bytes: Buffer, at: number, end: number): boolean {
  for (let i = 0; i < HTTP.length; i += 1) {
    if (bytes[at + i] !== HTTP[i]) return false;
  }
  const major = at + HTTP.length;
  return (
    isDigit(bytes[end - 1]) &&
    isDigit(bytes[major]) &&
    (major + 1 === end || bytes[major + 1] === POINT)
  );
}

function isDash(bytes: Buffer, start: number, end: number): boolean {
  return end - start === 1 && bytes[start] === DASH;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function isLetter(byte: number): boolean {
  const upper = byte & 0xdf;
  return upper >= 0x41 && upper <= 0x5a;
}

/** `METHOD target HTTP/1.1`; HTTP/0.9 had no version. Targets contain spaces if a client sent them unescaped. */
const REQUEST_LINE = /^([!#$%&'*+.^_`|~\w-]{1,32}) (\S.*?)(?: HTTP\/\d(?:\.\d)?)?$/s;

/** A target is a path, `*`, an absolute address, or the host and port of CONNECT. */
const TARGET = /^(?:\/|\*$|[a-z][a-z0-9+.-]*:\/\/|[^/\s]+:\d+$)/i;

/** Parses a logged request line; undefined if there was no request (`-`, a TLS handshake, noise). */
function parseRequestLine(text: string): Pick<LogEntry, "method" | "path"> | undefined {
  const match = REQUEST_LINE.exec(text);
  const path = match?.[2];
  if (match === null || path === undefined || !TARGET.test(path)) return undefined;
  return { method: match[1] as string, path };
}

/** The number of entries. The hash of a string selects its entry. */
const SIZE = 65_536;

const FIRST_NOT_ASCII = 0x80;

/**
 * Decodes bytes into strings and caches recent ones, so that equal bytes mostly give the same string: a log repeats clients and
 * paths.
 */
export class StringCache {
  readonly #strings: string[] = new Array(SIZE).fill("");

  /** Decodes UTF-8 bytes. */
  get(bytes: Buffer, start: number, end: number): string {
    let hash = 0;
    for (let i = start; i < end; i += 1) hash = (hash * 31 + (bytes[i] as number)) | 0;
    const index = (hash ^ (hash >>> 16)) & (SIZE - 1);
    const cached = this.#strings[index] as string;
    if (equalsAscii(cached, bytes, start, end)) return cached;
    const text = bytes.toString("utf8", start, end);
    this.#strings[index] = text;
    return text;
  }
}

/** Whether a text equals some bytes. Only ASCII is compared. */
function equalsAscii(text: string, bytes: Buffer, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let i = start; i < end; i += 1) {
    const byte = bytes[i] as number;
    if (byte >= FIRST_NOT_ASCII || text.charCodeAt(i - start) !== byte) return false;
  }
  return true;
}
