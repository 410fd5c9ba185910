import type { Readable } from "node:stream";

/** One request of a log. */
export interface LogEntry {
  /** Milliseconds since the epoch, from 1970 to 2199. */
  readonly time: number;
  /** The client: an address, or a host name if the server looked it up; at most 255 characters. */
  readonly client: string;
  /** As logged. Only a replay over HTTP uses it. Default: GET. */
  readonly method?: string | undefined;
  /** The target as logged. A replay over HTTP sends it; others list those of denied requests. Default: `/`. */
  readonly path?: string | undefined;
  /** The user agent as logged. */
  readonly agent?: string | undefined;
}

/** The names of the fields of a log in JSON lines; `request.remote_ip` is a field of a nested object. */
export interface LogFields {
  readonly time: string;
  readonly client: string;
  readonly method?: string;
  readonly path?: string;
  readonly agent?: string;
}

/**
 * A log: the path of a file or a stream of its bytes, compressed with gzip or not; several of them, which are merged by time; or
 * entries, or lines as text, one by one.
 */
export type Log =
  | LogFile
  | readonly LogFile[]
  | Iterable<LogEntry>
  | AsyncIterable<LogEntry>
  | AsyncIterable<string>;

/** The path of a file, or a stream of its bytes. */
export type LogFile = string | Readable;

/** The longest client accepted. Host names have at most 253 characters. */
export const MAX_CLIENT = 255;

/** The first time that is too late for the clock of a store. */
export const END_OF_TIME: number = Date.UTC(2200, 0, 1);
