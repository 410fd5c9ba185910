import { isIP } from "node:net";
import type { HeadgateError } from "../common/errors.ts";
import { invalidValue } from "../common/errors.ts";
import { rejectUnknownOptions } from "../common/options.ts";
import type { AddressTest } from "../net/network.ts";
import type { Client, HttpRequest, NodeHeaders } from "./client.ts";
import { headerValue } from "./client.ts";
import type { AddressList } from "./lists.ts";
import { readAddressList } from "./lists.ts";
import type { GuardStep } from "./request-context.ts";
import { requireHeaderName } from "./subject.ts";
import type { Warn } from "./warn.ts";

/** The header in which a proxy passes the client's address, and the proxies trusted to send it. */
export interface AddressOption {
  /** The header's name. The header must hold exactly one address. */
  readonly header: string;
  /** The addresses and networks (CIDR) of the proxies that connect to this process. */
  readonly trust: AddressList;
}

/** The parsed option. */
export interface AddressHeader {
  readonly header: string;
  readonly trusts: AddressTest;
}

/** Reads the option. Throws `HEADGATE_INVALID_OPTION`. */
export function readAddressOption(owner: string, option: AddressOption): AddressHeader {
  rejectUnknownOptions(`${owner}: address`, option, ["header", "trust"]);
  const { header, trust } = option;
  requireHeaderName(`${owner}: address.header`, header);
  const invalid = (received: unknown): HeadgateError =>
    invalidValue(
      `${owner}: address.trust must list the addresses or networks of your proxies, like "10.0.0.7" or "10.0.0.0/8"`,
      received,
    );
  if (Array.isArray(trust) && trust.length === 0) throw invalid(trust);
  return { header, trusts: readAddressList(trust, invalid) };
}

/** The step that reads the client's address from the header. `checkTrust` checks the framework's address if that one is used. */
export function createAddressStep<Request extends HttpRequest>(
  address: AddressHeader,
  checkTrust: TrustCheck | undefined,
  warn: Warn,
): GuardStep<Request> {
  return (context) => {
    context.client = readAddressHeader(address, context, warn);
    return context.client === context.frameworkClient ? checkTrust?.(context) : undefined;
  };
}

/** Returns the client with the address from the header, or the same client if there is none to trust. */
function readAddressHeader(
  { header, trusts }: AddressHeader,
  { request, httpRequest, frameworkClient: client }: ReceivedRequest,
  warn: Warn,
): Client {
  const { peer } = client;
  const value = headerValue(httpRequest.headers, header.toLowerCase());
  const isTrusted = peer !== undefined && trusts(peer);
  if (isTrusted && typeof value === "string" && isIP(value.trim()) !== 0) {
    return { address: value.trim(), peer, isDisconnected: client.isDisconnected };
  }
  if (isTrusted) {
    warn(
      "HEADGATE_ADDRESS_HEADER_IGNORED",
      `a request from the trusted proxy ${peer} did not have exactly one address in ${header}, so it was counted by the framework's address; let the proxy send that header with every request`,
      request,
    );
  } else if (value !== undefined) {
    warn(
      "HEADGATE_ADDRESS_HEADER_IGNORED",
      `a request had the header ${header} from ${peer ?? "an unknown peer"}, which is not trusted to send it, so it was counted by the framework's address; if that is your proxy, add it to address.trust`,
      request,
    );
  }
  return client;
}

/** The properties of a request context from which the sender is known. */
export interface ReceivedRequest {
  readonly request: HttpRequest;
  readonly httpRequest: HttpRequest;
  readonly frameworkClient: Client;
}

/** A step that warns once if the proxy trust would count the wrong address. */
export type TrustCheck = (arrival: ReceivedRequest) => undefined;

export function createTrustCheck(warn: Warn): TrustCheck {
  let seen = 0;
  let warnedUntrusted = false;
  return ({ request, httpRequest, frameworkClient: { address, peer } }) => {
    seen += 1;
    if (
      seen === 1 &&
      simulateAddress(httpRequest, "203.0.113.1", UNTRUSTED_ADDRESSES) === UNTRUSTED_ADDRESSES[0]
    ) {
      warn(
        "HEADGATE_ALL_PROXIES_TRUSTED",
        "the framework trusts X-Forwarded-For from every client, so a client can evade its limits by sending another address; trust only the addresses of your proxies",
        request,
      );
    }
    if (address !== peer || peer === undefined || warnedUntrusted) return;
    // A proxy forwards every request with the header, so later it is found in one of a few.
    if (seen > 1_000 && seen % 17 !== 0) return;
    if (!isForwarded(httpRequest.headers)) return;
    // A trusted proxy may forward requests of a client with its own address.
    if (
      simulateAddress(httpRequest, peer, [UNTRUSTED_ADDRESSES[0] as string]) ===
      UNTRUSTED_ADDRESSES[0]
    )
      return;
    warnedUntrusted = true;
    warn(
      "HEADGATE_PROXY_NOT_TRUSTED",
      `a request came with a forwarding header from ${peer}, which is not trusted as a proxy, so all clients behind it count as one; if it is your proxy, let the framework trust it (Fastify: trustProxy, Express: "trust proxy"), or give the option address`,
      request,
    );
  };
}

/**
 * More hops than any real chain of proxies has, from address ranges reserved for documentation (RFC
 * 5737).
 */
const UNTRUSTED_ADDRESSES = Array.from({ length: 64 }, (_, i) => `198.51.100.${i + 1}`);

function isForwarded(headers: HttpRequest["headers"]): boolean {
  if (typeof headers.get === "function") {
    return headers.get("x-forwarded-for") !== null || headers.get("forwarded") !== null;
  }
  const { "x-forwarded-for": forwardedFor, forwarded } = headers as NodeHeaders;
  return forwardedFor !== undefined || forwarded !== undefined;
}

/** The address that the framework itself would read from a request like this one, forwarded by `peer`. */
function simulateAddress(
  request: HttpRequest,
  peer: string,
  forwardedFor: readonly string[],
): string | undefined {
  const socket = { remoteAddress: peer };
  const headers = { "x-forwarded-for": forwardedFor.join(", ") };
  // The application's own trust function may throw for unknown addresses; that must not fail the request.
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
