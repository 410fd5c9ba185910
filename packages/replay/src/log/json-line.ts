import type { LogEntry, LogFields } from "./log-entry.ts";
import { END_OF_TIME, MAX_CLIENT } from "./log-entry.ts";
import { LOG_TIME_BYTES, parseLogTime } from "./log-time.ts";

/** Numbers from here on are milliseconds, those below are seconds: this number is in the year 5138 or 1973. */
const FIRST_MILLISECONDS = 1e11;

const NUMBER = /^\d{1,16}(?:\.\d+)?$/;

/** A date and a time with an optional offset. */
const ISO = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?<zone>Z|[+-]\d\d:?\d\d)?$/i;

/** Parses a line of a log in JSON lines. Returns a string with the reason if the line is malformed. */
export function parseJsonLine(line: string, fields: LogFields): LogEntry | string {
  const record = readJson(line);
  if (record === undefined) return "no JSON object";
  const time = readTime(fieldOf(record, fields.time));
  if (time === undefined) return `no time in the field ${fields.time}`;
  const client = textOf(record, fields.client);
  if (client === "" || client === "-" || client.length > MAX_CLIENT) {
    return `no client in the field ${fields.client}`;
  }
  return {
    time,
    client,
    method: textOf(record, fields.method),
    path: textOf(record, fields.path),
    ...(fields.agent === undefined ? {} : { agent: textOf(record, fields.agent) }),
  };
}

function readJson(line: string): object | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A field of a record, or else of nested records: `request.remote_ip`. */
function fieldOf(record: object, name: string): unknown {
  if (Object.hasOwn(record, name)) return record[name as never];
  let value: unknown = record;
  for (const part of name.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part))
      return undefined;
    value = value[part as never];
  }
  return value;
}

function textOf(record: object, name: string | undefined): string {
  const value = name === undefined ? undefined : fieldOf(record, name);
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? value : "";
}

/**
 * Parses a time as milliseconds since the epoch: a number of seconds or milliseconds, ISO 8601 (UTC without an offset), or the time of the
 * common format. Undefined for anything else, and before 1970 or after 2199.
 */
function readTime(value: unknown): number | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const time = typeof value === "string" ? readText(value.trim()) : toMilliseconds(value);
  return time !== undefined && time >= 0 && time < END_OF_TIME ? Math.floor(time) : undefined;
}

function readText(text: string): number | undefined {
  if (NUMBER.test(text)) return toMilliseconds(Number(text));
  const iso = ISO.exec(text);
  if (iso !== null) {
    const time = Date.parse(text.replace(",", ".") + (iso.groups?.["zone"] ? "" : "Z"));
    return Number.isNaN(time) ? undefined : time;
  }
  const bytes = Buffer.from(text);
  return bytes.length === LOG_TIME_BYTES ? parseLogTime(bytes, 0) : undefined;
}

function toMilliseconds(number: number): number {
  return number < FIRST_MILLISECONDS ? number * 1_000 : number;
}
