import type { HttpRequest } from "./key-function.ts";

/** Says something to the operator. */
export type Warn = (
  code: "HEADGATE_NO_PROXY_TRUST" | "HEADGATE_TRUST_EVERYBODY",
  message: string,
) => void;

/** More hops than any real chain of proxies has, from address ranges kept for documentation (RFC 5737). */
const STRANGERS = Array.from({ length: 64 }, (_, i) => `198.51.100.${i + 1}`);

/** Watches for a proxy trust that would count the wrong thing, and says so once. */
export interface ProxyTrustWatch {
  check(request: HttpRequest, address: string | undefined, peer: string | undefined): void;
}

export function createProxyTrustWatch(warn: Warn): ProxyTrustWatch {
  let probed = false;
  let toldUntrusted = false;
  return {
    check(request, address, peer) {
      if (!probed) {
        probed = true;
        if (trustsEverybody(request)) {
          warn(
            "HEADGATE_TRUST_EVERYBODY",
            "every client is trusted to name its own address in X-Forwarded-For, so each can have as many limits as it likes; trust your proxies' addresses, or their number, instead",
          );
        }
      }
      if (toldUntrusted || address === undefined || address !== peer) return;
      if (!("x-forwarded-for" in request.headers || "forwarded" in request.headers)) return;
      toldUntrusted = true;
      warn(
        "HEADGATE_NO_PROXY_TRUST",
        `a request came with a forwarding header from ${peer}, which is not trusted as a proxy, so all clients behind it count as one; if it is your proxy, let the framework trust it (Fastify: trustProxy, Express: "trust proxy")`,
      );
    },
  };
}

/** Asks the framework itself what it would take for the address of a request that came through strangers only. */
function trustsEverybody(request: HttpRequest): boolean {
  const [client, ...proxies] = STRANGERS;
  const socket = { remoteAddress: "203.0.113.1" };
  const headers = { "x-forwarded-for": [client, ...proxies].join(", ") };
  const stranger = { socket, connection: socket, headers };
  const probe = Object.create(request, {
    raw: { value: stranger },
    socket: { value: socket },
    connection: { value: socket },
    headers: { value: headers },
  }) as HttpRequest;
  return probe.ip === client;
}
