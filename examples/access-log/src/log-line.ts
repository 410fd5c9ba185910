import { parseLogTime } from "./log-time.ts";
import type { LoggedRequest } from "./request-line.ts";
import { parseRequestLine } from "./request-line.ts";

/** One request of an access log. */
export interface LogEntry extends LoggedRequest {
  /** Milliseconds since the epoch, whole seconds. */
  readonly time: number;
  /** Who asked: an address, or a host name where the server looked it up. */
  readonly client: string;
}

/**
 * The common format, and the combined format, which adds the referrer and the agent; more fields may follow, as many
 * servers are set to log them. A quote that is not closed is a line cut off.
 * https://httpd.apache.org/docs/2.4/logs.html#accesslog
 */
const LINE = new RegExp(
  [
    /^(?<client>\S+) \S+ [^[]+ \[(?<time>[^\]]+)\]/, // host, identity, user
    / "(?<request>[^"\\]*(?:\\.[^"\\]*)*)" (?:\d{3}|-) (?:\d+|-)/, // request, status, bytes
    /(?: "[^"\\]*(?:\\.[^"\\]*)*"| [^\s"]\S*)*$/, // referrer, agent, ...
  ]
    .map(({ source }) => source)
    .join(""),
);

/** Host names have at most 253 characters. */
const MAX_CLIENT = 255;

/** Reads a line of an access log. A string says why it is malformed. */
export function parseLogLine(line: string): LogEntry | string {
  const fields = LINE.exec(line)?.groups as
    | { client: string; time: string; request: string }
    | undefined;
  if (fields === undefined) return "neither the common nor the combined format";
  const time = parseLogTime(fields.time);
  if (time === undefined) return "no such time";
  if (fields.client === "-" || fields.client.length > MAX_CLIENT) return "no client";
  const request = parseRequestLine(fields.request);
  if (request === undefined) return "no HTTP request";
  return { time, client: fields.client, ...request };
}
