/** Longer paths could exceed what an HTTP server takes as a request's head. */
const MAX_PATH = 4_000;

/**
 * The path to ask for in place of a log's request target. It is the same wherever that can be sent; what a client, a server
 * or a router would refuse is escaped, and as a last resort it is `/`: a limiter counts requests, not paths.
 */
export function sendablePath(target: string): string {
  const origin = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i.exec(target)?.[0] ?? "";
  const path = escapeRefused(unescapeLogged(target.toWellFormed().slice(origin.length)));
  if (!path.startsWith("/") || path.length > MAX_PATH) return "/";
  return isDecodable(path) ? path : path.replaceAll("%", "%25");
}

/** Apache writes quotes, backslashes and what cannot be printed as `\"`, `\\`, `\n` and `\xhh`; every `\xhh` is a byte. */
function unescapeLogged(text: string): string {
  return text.replace(/\\(?:x([0-9a-f]{2})|(.))/gi, (_, byte?: string, sign?: string) =>
    byte === undefined ? (sign as string) : `%${byte}`,
  );
}

function escapeRefused(text: string): string {
  return text.replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
