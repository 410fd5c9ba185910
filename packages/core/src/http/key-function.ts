import { createHash, createHmac } from "node:crypto";
import { addressSubject, DEFAULT_IPV6_PREFIX } from "../address/client-address.ts";
import { formatReceived, HeadgateError } from "../errors.ts";
import type { SubjectSource } from "../fleet/directory/directory.ts";
import { rejectUnknownOptions } from "../options.ts";
import type { NodeHeaders, WebHeaders } from "./header-value.ts";
import { headerValue } from "./header-value.ts";
import { isPromiseLike } from "./is-promise-like.ts";
import { noteAddress, notedAddress } from "./noted-address.ts";
import type { KindSubject } from "./subject.ts";
import { joinSubjects, kindText, plainSubject, subjectText } from "./subject.ts";

/** What Headgate itself reads from a request: properties that the requests of most frameworks share. */
export interface HttpRequest {
  readonly ip?: string | undefined;
  /** A plain object as Node has it, or the `Headers` of the Fetch API. */
  readonly headers: NodeHeaders | WebHeaders;
}

/** What a key function may return: a subject, which may be a whole number such as the id of a user, or nothing when the request has none. */
export type KeyResult = string | number | bigint | KindSubject | undefined | null;

/**
 * Returns who is counted. `address` is the client's as `byIp()` counts it: an IPv6 address as its /64. It was read when the request
 * arrived: `request.ip` may be gone after an await.
 */
export type KeyFunction<Request = HttpRequest> = (
  request: Request,
  address: string | undefined,
) => KeyResult | Promise<KeyResult>;

/** How Headgate's own key functions are called: with the client's whole address. */
const READ: unique symbol = Symbol.for("@headgate/core.read-key") as never;

/** Marks key functions that count addresses, so that an untrusted proxy is noticed. */
const BY_ADDRESS: unique symbol = Symbol.for("@headgate/core.by-address") as never;

/** What Headgate's own key functions make subjects of, for the directory. */
const SOURCE: unique symbol = Symbol.for("@headgate/core.key-source") as never;

type Read<Request> = (
  request: Request,
  address: string | undefined,
) => KeyResult | Promise<KeyResult>;

/** Who a request is, as a key function says. `address` is the client's, whole. */
export function readKey<Request extends object>(
  key: KeyFunction<Request>,
  request: Request,
  address: string | undefined,
): KeyResult | Promise<KeyResult> {
  const read = (key as { [READ]?: Read<Request> })[READ];
  if (read !== undefined) return read(request, address);
  const handed = address && addressSubject(address);
  // Because the function may call byIp() itself.
  noteAddress(request, { address, handed });
  return key(request, handed);
}

/** What a key function makes subjects of. */
export function sourceOf(key: object): SubjectSource {
  return (key as { [SOURCE]?: SubjectSource })[SOURCE] ?? { by: "function" };
}

/**
 * Turns a function that reads whole addresses into a key function. If an application calls it with the address that it got, or with none,
 * it uses the whole address noted before; any other address is taken as it is.
 */
function keyFunction<Request extends HttpRequest>(
  read: Read<Request>,
  isByAddress: boolean,
  source: SubjectSource,
): KeyFunction<Request> {
  const key: KeyFunction<Request> = (request, address = addressOf(request)) => {
    const noted = notedAddress(request);
    return read(request, address === noted?.handed ? noted?.address : address);
  };
  const marks = { [READ]: read, [SOURCE]: source };
  return Object.assign(key, marks, isByAddress ? { [BY_ADDRESS]: true } : {});
}

function addressOf(request: HttpRequest): string | undefined {
  const noted = notedAddress(request);
  return noted === undefined ? request.ip : noted.address;
}

/** Whether a key function counts addresses, by itself or beside others. */
export function countsByAddress(key: object): boolean {
  return BY_ADDRESS in key;
}

/** Options of `byIp`. */
export interface ByIpOptions {
  /** How many leading bits of an IPv6 address name one client: a whole number from 1 to 128. Default 64. */
  readonly ipv6Prefix?: number | undefined;
}

/**
 * Counts by client address, as the framework's proxy trust gives it. An IPv4 address inside IPv6 counts as IPv4; IPv6
 * counts per network of `ipv6Prefix` bits. Throws `HEADGATE_INVALID_OPTION`.
 */
export function byIp(options: ByIpOptions = {}): KeyFunction<HttpRequest> {
  const prefix = readPrefix("byIp", options);
  const read = (_: HttpRequest, address: string | undefined) =>
    address ? plainSubject(addressSubject(address, prefix)) : undefined;
  return keyFunction(read, true, { by: "ip", ipv6Prefix: prefix });
}

/** Reads `ipv6Prefix`. Throws `HEADGATE_INVALID_OPTION`. */
export function readPrefix(owner: string, options: ByIpOptions): number {
  rejectUnknownOptions(owner, options, ["ipv6Prefix"]);
  const { ipv6Prefix = DEFAULT_IPV6_PREFIX } = options;
  if (Number.isInteger(ipv6Prefix) && ipv6Prefix >= 1 && ipv6Prefix <= 128) return ipv6Prefix;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: ipv6Prefix must be a whole number from 1 to 128, got ${formatReceived(ipv6Prefix)}`,
  );
}

/** Options of `byHeader`. */
export interface ByHeaderOptions {
  /** Makes the hash an HMAC-SHA-256 with this key, so that someone who reads Redis cannot guess values. */
  readonly hashSecret?: string | undefined;
}

/**
 * Counts by the value of a request header, which is hashed with SHA-256 before it becomes a key: it may have any length, and is never
 * readable in Redis. A header alone does not identify a client, because each new value gets a new counter: also count by address.
 * Throws `HEADGATE_INVALID_OPTION`.
 */
export function byHeader(name: string, options: ByHeaderOptions = {}): KeyFunction<HttpRequest> {
  const hash = readHash("byHeader", name, options);
  const field = name.toLowerCase();
  const read: Read<HttpRequest> = ({ headers }) => {
    const value = headerValue(headers, field);
    // A header that was sent several times arrives as a list, or joined by Node with commas.
    const text = typeof value === "object" ? value.join(", ") : value;
    return text ? plainSubject(hash(text)) : undefined;
  };
  const how = options.hashSecret === undefined ? "sha256" : "hmac";
  return keyFunction(read, false, { by: "header", name: field, hash: how });
}

/** How a header's value becomes a subject's text. Throws `HEADGATE_INVALID_OPTION`. */
export function readHash(
  owner: string,
  name: unknown,
  options: ByHeaderOptions,
): (value: string) => string {
  rejectUnknownOptions(owner, options, ["hashSecret"]);
  requireHeaderName(`${owner}: name`, name);
  const { hashSecret } = options;
  if (hashSecret === undefined) {
    return (value) => kindText("sha256", createHash("sha256").update(value).digest("base64url"));
  }
  if (typeof hashSecret !== "string" || hashSecret === "") {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `${owner}: hashSecret must be a non-empty string`,
    );
  }
  return (value) =>
    kindText("hmac", createHmac("sha256", hashSecret).update(value).digest("base64url"));
}

/** Throws `HEADGATE_INVALID_OPTION` for what is no field name: RFC 9110 §5.6.2, a token. */
export function requireHeaderName(option: string, name: unknown): asserts name is string {
  if (typeof name === "string" && /^[!#$%&'*+.^`|~\w-]{1,64}$/.test(name)) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${option} must be a header name, got ${formatReceived(name)}`,
  );
}

/**
 * Counts by several keys together, such as address and account: each combination is a subject of its own. A request that lacks one
 * of them has no key. Throws `HEADGATE_INVALID_OPTION`.
 */
export function byAll<Request extends HttpRequest>(
  ...keys: readonly KeyFunction<Request>[]
): KeyFunction<Request> {
  const wrong: unknown = keys.find((key) => typeof key !== "function");
  if (keys.length < 2 || wrong !== undefined) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `byAll takes two or more key functions, got ${wrong === undefined ? keys.length : formatReceived(wrong)}`,
    );
  }

  function readFrom(
    request: Request,
    address: string | undefined,
    texts: readonly string[],
  ): KeyResult | Promise<KeyResult> {
    const key = keys[texts.length];
    if (key === undefined) return plainSubject(joinSubjects(texts));
    const add = (value: KeyResult): KeyResult | Promise<KeyResult> => {
      const text = subjectText(value);
      // The caller handles a missing or invalid subject.
      return typeof text === "string" ? readFrom(request, address, [...texts, text]) : value;
    };
    const value = readKey(key, request, address);
    return isPromiseLike(value) ? value.then(add) : add(value);
  }

  const read: Read<Request> = (request, address) => readFrom(request, address, []);
  return keyFunction(read, keys.some(countsByAddress), { by: "all", keys: keys.map(sourceOf) });
}
