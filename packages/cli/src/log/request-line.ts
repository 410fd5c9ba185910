/** The method and the target of a request. */
export interface RequestLine {
  readonly method: string;
  readonly path: string;
}

/** `METHOD target HTTP/1.1`; HTTP/0.9 had no version. Targets contain spaces if a client sent them unescaped. */
const REQUEST_LINE = /^([!#$%&'*+.^_`|~\w-]{1,32}) (\S.*?)(?: HTTP\/\d(?:\.\d)?)?$/s;

/** A target is a path, `*`, an absolute address, or the host and port of CONNECT. */
const TARGET = /^(?:\/|\*$|[a-z][a-z0-9+.-]*:\/\/|[^/\s]+:\d+$)/i;

/** Parses a logged request line; undefined if there was no request (`-`, a TLS handshake, noise). */
export function parseRequestLine(text: string): RequestLine | undefined {
  const match = REQUEST_LINE.exec(text);
  const path = match?.[2];
  if (match === null || path === undefined || !TARGET.test(path)) return undefined;
  return { method: match[1] as string, path };
}
