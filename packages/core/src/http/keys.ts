import { formatReceived, invalidOption } from "../common/errors.ts";
import type { Awaitable } from "../common/type-guards.ts";
import { isPromiseLike } from "../common/type-guards.ts";
import { addressSubject } from "../net/client-address.ts";
import type { SubjectSource } from "../registry/record.ts";
import type { HttpRequest } from "./client.ts";
import { headerValue, unwrapRequest } from "./client.ts";
import type { ByHeaderOptions, ByIpOptions, OpaqueSubject, SubjectText } from "./subject.ts";
import {
  InvalidSubject,
  joinSubjects,
  parseKeyResult,
  readHash,
  readPrefixes,
  toOpaqueSubject,
} from "./subject.ts";

/**
 * The result of a key function: a subject, which may be a whole number such as the id of a user, or nothing if the request has
 * none. A list is here because frameworks declare headers and path parameters as `string | string[]`; one that occurs is
 * `HEADGATE_INVALID_KEY`.
 */
export type KeyResult =
  | string
  | number
  | bigint
  | OpaqueSubject
  | readonly string[]
  | undefined
  | null;

/**
 * Returns the subject to count. `address` is the client's address as `byIp()` counts it: an IPv6 address as its /64. It was
 * read when the request arrived: `request.ip` may be gone after an await.
 */
export type KeyFunction<Request = HttpRequest> = (
  request: Request,
  address: string | undefined,
) => KeyResult | Promise<KeyResult>;

/** Receives a request whose key holds its raw address. */
export type RawAddressListener = (request: HttpRequest) => void;

/** How a key function is called, and how it is described. */
export interface KeyDescription<Request = HttpRequest> {
  /**
   * Reads the text of a subject. `address` is the client's whole address. `onRawAddress` is called for a key that holds this
   * address, although `byIp()` counts it in another form.
   */
  readonly read: (
    request: Request,
    address: string | undefined,
    onRawAddress: RawAddressListener | undefined,
  ) => Awaitable<SubjectText>;
  /** Whether addresses are counted, alone or together with others, so that an untrusted proxy is noticed. */
  readonly countsAddress: boolean;
  readonly source: SubjectSource;
}

/** Under this symbol Headgate's own key functions, of any copy, have their description. */
const BUILT_IN: unique symbol = Symbol.for("@headgate/core.own-key") as never;

/** Under this symbol a request stores the client's address, for key functions that call `byIp()` themselves. */
const ADDRESS: unique symbol = Symbol.for("@headgate/core.address") as never;

interface AddressedRequest {
  [ADDRESS]?: {
    /** The whole address; undefined if there is none. */
    readonly whole: string | undefined;
    /** The address as key functions get it: an IPv6 address as its /64. */
    readonly handed: string | undefined;
  };
}

/** Describes one of Headgate's own key functions, or a function of the application. */
export function describeKey<Request extends HttpRequest>(
  key: KeyFunction<Request>,
): KeyDescription<Request> {
  const own = (key as { [BUILT_IN]?: KeyDescription })[BUILT_IN];
  if (own !== undefined) return own as unknown as KeyDescription<Request>;
  return { read: createReader(key), countsAddress: false, source: { by: "function" } };
}

/** Calls a key function of the application. */
function createReader<Request extends HttpRequest>(
  key: KeyFunction<Request>,
): KeyDescription<Request>["read"] {
  return (request, whole, onRawAddress) => {
    const handed = whole && addressSubject(whole);
    (request as AddressedRequest)[ADDRESS] = { whole, handed };
    const value = key(request, handed);
    if (whole === handed || onRawAddress === undefined) {
      return isPromiseLike(value)
        ? Promise.resolve(value).then(parseKeyResult)
        : parseKeyResult(value);
    }
    const parse = (result: unknown): SubjectText => {
      if (holdsAddress(result, whole as string)) onRawAddress(request);
      return parseKeyResult(result);
    };
    return isPromiseLike(value) ? Promise.resolve(value).then(parse) : parse(value);
  };
}

/** Whether a key is an address, or contains it. Text such as `user::1` contains `::1` by chance. */
function holdsAddress(result: unknown, address: string): boolean {
  if (typeof result !== "string") return false;
  return result === address || (address.length > "::1".length && result.includes(address));
}

/**
 * A key function that reads whole addresses. If an application calls it with the address that it received, or with none, the
 * whole address noted before is used; any other address is used as given.
 */
function createBuiltInKey(own: KeyDescription): KeyFunction<HttpRequest> {
  const key: KeyFunction<HttpRequest> = (request, address) => {
    const noted = (request as AddressedRequest)[ADDRESS];
    const isNoted = noted !== undefined && (address === undefined || address === noted.handed);
    const read = isNoted ? noted.whole : (address ?? unwrapRequest(request).ip);
    const text = own.read(request, read, undefined);
    return isPromiseLike(text) ? text.then(resultOf) : resultOf(text);
  };
  return Object.assign(key, { [BUILT_IN]: own });
}

function resultOf(text: SubjectText): KeyResult {
  if (text instanceof InvalidSubject) return text.value as KeyResult;
  return text === undefined ? undefined : toOpaqueSubject(text);
}

/**
 * Counts by client address, according to the framework's proxy trust. IPv4 counts per address, or per network of `ipv4Prefix`
 * bits, also where it is embedded in IPv6; IPv6 counts per network of `ipv6Prefix` bits. Throws `HEADGATE_INVALID_OPTION`.
 */
export function byIp(options: ByIpOptions = {}): KeyFunction<HttpRequest> {
  const prefixes = readPrefixes("byIp", options);
  const { ipv6Prefix, ipv4Prefix } = prefixes;
  return createBuiltInKey({
    read: (_, address) => (address ? addressSubject(address, ipv6Prefix, ipv4Prefix) : undefined),
    countsAddress: true,
    source: { by: "ip", ...prefixes },
  });
}

/**
 * Counts by the value of a request header, which is hashed with SHA-256 before it becomes a key: it may have any length,
 * and is never readable in Redis. A header alone does not identify a client, because each new value gets a new counter:
 * also count by address. Throws `HEADGATE_INVALID_OPTION`.
 */
export function byHeader(name: string, options: ByHeaderOptions = {}): KeyFunction<HttpRequest> {
  const hash = readHash("byHeader", name, options);
  const field = name.toLowerCase();
  return createBuiltInKey({
    read(request) {
      const value = headerValue(unwrapRequest(request).headers, field);
      // A header that was sent several times arrives as a list, or joined by Node with commas.
      const text = typeof value === "object" ? value.join(", ") : value;
      return text ? hash(text) : undefined;
    },
    countsAddress: false,
    source: {
      by: "header",
      name: field,
      hash: options.hashSecret === undefined ? "sha256" : "hmac",
    },
  });
}

/**
 * Counts by several keys together, such as address and account: each combination is a separate subject. A request that lacks
 * one of them has no key. Throws `HEADGATE_INVALID_OPTION`.
 */
export function combineKeys<Request extends HttpRequest>(
  ...keys: readonly KeyFunction<Request>[]
): KeyFunction<Request> {
  const wrong: unknown = keys.find((key) => typeof key !== "function");
  if (keys.length < 2 || wrong !== undefined) {
    throw invalidOption(
      `combineKeys takes two or more key functions, got ${wrong === undefined ? keys.length : formatReceived(wrong)}`,
    );
  }
  const described = keys.map((key) => describeKey(key as KeyFunction));

  function readFrom(
    request: HttpRequest,
    address: string | undefined,
    onRawAddress: RawAddressListener | undefined,
    texts: readonly string[],
  ): Awaitable<SubjectText> {
    const next = described[texts.length];
    if (next === undefined) return joinSubjects(texts);
    const add = (text: SubjectText): Awaitable<SubjectText> =>
      typeof text === "string" ? readFrom(request, address, onRawAddress, [...texts, text]) : text;
    const text = next.read(request, address, onRawAddress);
    return isPromiseLike(text) ? text.then(add) : add(text);
  }

  return createBuiltInKey({
    read: (request, address, onRawAddress) => readFrom(request, address, onRawAddress, []),
    countsAddress: described.some(({ countsAddress }) => countsAddress),
    source: { by: "combined", keys: described.map(({ source }) => source) },
  });
}
