import { headerValue } from "./header-value.ts";
import type { HttpRequest } from "./key-function.ts";
import type { Warn } from "./warn.ts";

/** More hops than any real chain of proxies has, from address ranges kept for documentation (RFC 5737). */
const STRANGERS = Array.from({ length: 64 }, (_, i) => `198.51.100.${i + 1}`);

/** Watches for a proxy trust that would count the wrong thing, and says so once. */
export interface ProxyTrustWatch {
  check(request: HttpRequest, address: string | undefined, peer: string | undefined): void;
}

export function createProxyTrustWatch(warn: Warn): ProxyTrustWatch {
  let probed = false;
  let warnedUntrusted = false;
  return {
    check(request, address, peer) {
      if (!probed) {
        probed = true;
        if (trustsEverybody(request)) {
          warn(
            "HEADGATE_TRUST_EVERYBODY",
            "every client is trusted to name its own address in X-Forwarded-For, so a client can evade its limits by sending another one; trust the addresses of your proxies instead",
            request,
          );
        }
      }
      if (warnedUntrusted || peer === undefined || address !== peer) return;
      if (!isForwarded(request)) return;
      // A trusted proxy may forward for a client of its own address.
      if (addressOf(request, peer, [STRANGERS[0] as string]) === STRANGERS[0]) return;
      warnedUntrusted = true;
      warn(
        "HEADGATE_NO_PROXY_TRUST",
        `a request came with a forwarding header from ${peer}, which is not trusted as a proxy, so all clients behind it count as one; if it is your proxy, let the framework trust it (Fastify: trustProxy, Express: "trust proxy"), or give the option address`,
        request,
      );
    },
  };
}

function isForwarded({ headers }: HttpRequest): boolean {
  return (
    headerValue(headers, "x-forwarded-for") !== undefined ||
    headerValue(headers, "forwarded") !== undefined
  );
}

function trustsEverybody(request: HttpRequest): boolean {
  return addressOf(request, "203.0.113.1", STRANGERS) === STRANGERS[0];
}

/** What the framework itself would take for the address of a request like this one that `peer` forwards for others. */
function addressOf(
  request: HttpRequest,
  peer: string,
  forwardedFor: readonly string[],
): string | undefined {
  const socket = { remoteAddress: peer };
  const headers = { "x-forwarded-for": forwardedFor.join(", ") };
  // The application's own trust function may refuse strangers by throwing; that is none of the request's business.
  try {
    return Object.create(request, {
      raw: { value: { socket, connection: socket, headers } },
      socket: { value: socket },
      connection: { value: socket },
      headers: { value: headers },
    }).ip;
  } catch {
    return undefined;
  }
}
