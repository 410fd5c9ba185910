/** One request of an access log. */
export interface LoggedRequest {
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** The client: an address, or a host name if the server looked it up. */
  readonly client: string;
  /** As logged; empty if it was not logged or not read. */
  readonly method: string;
  /** The target as logged; empty if it was not logged or not read. */
  readonly path: string;
  /** Undefined if it was not logged. */
  readonly status: number | undefined;
}

/** A line that is not a request. */
export interface MalformedLine {
  readonly file: string;
  /** The line number, from 1. */
  readonly number: number;
  readonly text: string;
  readonly reason: string;
}
