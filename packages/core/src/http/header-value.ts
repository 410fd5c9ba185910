/** The headers of a request of the Fetch API: `Headers`. */
export interface WebHeaders {
  get(name: string): string | null;
}

/** The headers of a request of Node's, by their names in lower case. */
export type NodeHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The value of a request's header, whose name is in lower case; undefined where there is none. */
export function headerValue(
  headers: NodeHeaders | WebHeaders,
  name: string,
): string | readonly string[] | undefined {
  if (isWebHeaders(headers)) return headers.get(name) ?? undefined;
  return Object.hasOwn(headers, name) ? headers[name] : undefined;
}

/** A client may send a header named `get`, which is a text then. */
function isWebHeaders(headers: NodeHeaders | WebHeaders): headers is WebHeaders {
  return typeof headers.get === "function";
}
