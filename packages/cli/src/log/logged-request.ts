/** One request of an access log. */
export interface LoggedRequest {
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** Who asked: an address, or a host name where the server looked it up. */
  readonly client: string;
  /** As logged; empty where it was not, or was not to be read. */
  readonly method: string;
  /** The target, as logged; empty where it was not, or was not to be read. */
  readonly path: string;
  /** Undefined where it was not logged. */
  readonly status: number | undefined;
}

/** A line that is no request. */
export interface MalformedLine {
  readonly file: string;
  /** From 1. */
  readonly number: number;
  readonly text: string;
  readonly reason: string;
}
