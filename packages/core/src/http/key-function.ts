import { createHash, createHmac } from "node:crypto";
import { formatReceived, HeadgateError } from "../errors.ts";
import { rejectUnknownOptions } from "../options.ts";
import { addressSubject, DEFAULT_IPV6_PREFIX } from "./client-address.ts";
import type { KindSubject } from "./subject.ts";
import { kindSubject, plainSubject } from "./subject.ts";

/** What Headgate reads of a request by itself: members that the requests of Fastify and Express share. */
export interface HttpRequest {
  readonly ip?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** What a key function may return: a subject, or nothing when the request has none. */
export type KeyResult = string | KindSubject | undefined | null;

/**
 * Tells who is counted. `address` is the client's, read when the request came in: `request.ip` may be gone after an await.
 */
export type KeyFunction<Request = HttpRequest> = (
  request: Request,
  address: string | undefined,
) => KeyResult | Promise<KeyResult>;

/** Marks key functions that count addresses, so that a proxy nobody trusts is noticed. */
const BY_ADDRESS: unique symbol = Symbol.for("@headgate/core.by-address") as never;

export interface ByIpOptions {
  /** How many leading bits of an IPv6 address name one client: a whole number from 1 to 128. Default 64. */
  readonly ipv6Prefix?: number | undefined;
}

/**
 * Counts by client address, as the framework's own proxy trust gives it. IPv4-mapped IPv6 is the IPv4 address; IPv6
 * counts per network. Throws `HEADGATE_INVALID_OPTION`.
 */
export function byIp(options: ByIpOptions = {}): KeyFunction<HttpRequest> {
  rejectUnknownOptions("byIp", options, ["ipv6Prefix"]);
  const { ipv6Prefix = DEFAULT_IPV6_PREFIX } = options;
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 1 || ipv6Prefix > 128) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `byIp: ipv6Prefix must be a whole number from 1 to 128, got ${formatReceived(ipv6Prefix)}`,
    );
  }
  const key: KeyFunction<HttpRequest> = (request, address = request.ip) =>
    address ? plainSubject(addressSubject(address, ipv6Prefix)) : undefined;
  return Object.assign(key, { [BY_ADDRESS]: true });
}

export function countsByAddress(key: object): boolean {
  return BY_ADDRESS in key;
}

export interface ByHeaderOptions {
  /** Makes the hash an HMAC-SHA-256 with this key, so that whoever reads Redis cannot try values out. */
  readonly hashSecret?: string | undefined;
}

/**
 * Counts by the value of a request header, which is hashed with SHA-256 before it becomes a key: of any length, and never
 * readable in Redis. A header alone is no identity, a new value would be a new bucket: count by address beside it.
 * Throws `HEADGATE_INVALID_OPTION`.
 */
export function byHeader(name: string, options: ByHeaderOptions = {}): KeyFunction<HttpRequest> {
  rejectUnknownOptions("byHeader", options, ["hashSecret"]);
  // RFC 9110 §5.6.2: a field name is a token.
  if (typeof name !== "string" || !/^[!#$%&'*+.^`|~\w-]{1,64}$/.test(name)) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `byHeader: name must be a header name, got ${formatReceived(name)}`,
    );
  }
  const { hashSecret } = options;
  if (hashSecret !== undefined && (typeof hashSecret !== "string" || hashSecret === "")) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      "byHeader: hashSecret must be a non-empty string",
    );
  }
  const field = name.toLowerCase();
  return ({ headers }) => {
    const value = Object.hasOwn(headers, field) ? headers[field] : undefined;
    // A header that was sent several times arrives as a list, or joined by Node with commas.
    const text = Array.isArray(value) ? value.join(", ") : value;
    if (!text) return undefined;
    return hashSecret === undefined
      ? kindSubject("sha256", createHash("sha256").update(text).digest("base64url"))
      : kindSubject("hmac", createHmac("sha256", hashSecret).update(text).digest("base64url"));
  };
}
