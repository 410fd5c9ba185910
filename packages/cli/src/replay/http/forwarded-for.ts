import { isIP } from "node:net";

/**
 * The `X-Forwarded-For` with which a proxy says for whom it asks. A host name stands in it as it is, like an address;
 * whatever else a log may hold in its place must not look like a list.
 */
export function forwardedFor(client: string): string {
  if (isIP(client) !== 0) return client;
  return client.toWellFormed().replace(/[^\w.:[\]-]+/g, encodeURIComponent);
}
