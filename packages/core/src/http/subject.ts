import { createHash, createHmac } from "node:crypto";
import { isIP } from "node:net";
import { formatReceived, HeadgateError, invalidOption, invalidValue } from "../common/errors.ts";
import { rejectUnknownOptions } from "../common/options.ts";
import { addressSubject, DEFAULT_IPV6_PREFIX, FULL_IPV4_PREFIX } from "../net/client-address.ts";

/** The subject of a request in each dimension; null if the limits of that dimension are left out. */
export type RequestSubjects = Readonly<Record<string, string | null>>;

/**
 * A subject created by Headgate's own key functions. It never equals a string returned by an application's key function.
 *
 * Using one as a string or as JSON throws `HEADGATE_INVALID_KEY`: otherwise all clients would share the
 * bucket `[object Object]` or `{}`.
 */
export interface OpaqueSubject {
  toString(): never;
  toJSON(): never;
}

/**
 * Marks a subject that Headgate created; JSON from a client cannot contain it. No public type has it: the compiler would
 * take the same type from another copy of the package for a different one.
 */
const SUBJECT: unique symbol = Symbol.for("@headgate/core.subject") as never;

/** A subject that has this text. */
export function toOpaqueSubject(text: string): OpaqueSubject {
  const subject = { [SUBJECT]: text, toString: throwOnText, toJSON: throwOnText };
  return subject;
}

function throwOnText(): never {
  throw new HeadgateError(
    "HEADGATE_INVALID_KEY",
    "a result of byIp, byHeader or combineKeys cannot be used as a string, because all clients would share one bucket: combine keys with combineKeys(byIp(), (request) => ...), or use the address that a key function gets",
  );
}

export type SubjectKind = "sha256" | "hmac" | "ip" | "all";

/** The text of a subject of this kind. */
export function formatSubject(kind: SubjectKind, value: string): string {
  return `~${kind}~${value}`;
}

/** A value returned by a key function that is not a subject. */
export class InvalidSubject {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/** The text of a subject; undefined if it is missing or empty. */
export type SubjectText = string | undefined | InvalidSubject;

/**
 * The text of a subject returned by a key function. A whole number is written in digits. An application's string that begins with `~`
 * gets another one in front, for all subjects of Headgate's own begin with `~` and a letter.
 */
export function parseKeyResult(value: unknown): SubjectText {
  if (typeof value === "string") {
    if (value === "") return undefined;
    return value.charCodeAt(0) === 0x7e ? `~${value}` : value;
  }
  if (Number.isSafeInteger(value) || typeof value === "bigint") return String(value);
  if (value === undefined || value === null) return undefined;
  const own = typeof value === "object" ? (value as { [SUBJECT]?: string })[SUBJECT] : undefined;
  return own ?? new InvalidSubject(value);
}

/** Joins subjects so that different lists give different texts: `~/` separates two, and a `~` inside is doubled. */
export function joinSubjects(texts: readonly string[]): string {
  return formatSubject("all", texts.map((text) => text.replaceAll("~", "~~")).join("~/"));
}

/** Options of `byIp`. */
export interface ByIpOptions {
  /** How many leading bits of an IPv6 address name one client: a whole number from 1 to 128. Default 64. */
  readonly ipv6Prefix?: number | undefined;
  /** How many leading bits of an IPv4 address name one client: a whole number from 1 to 32. Default 32, the whole address. */
  readonly ipv4Prefix?: number | undefined;
}

/** The bits of an address that name a client; `ipv4Prefix` is missing for all 32. */
export interface AddressPrefixes {
  readonly ipv6Prefix: number;
  readonly ipv4Prefix?: number | undefined;
}

/** Reads the prefixes. Throws `HEADGATE_INVALID_OPTION`. */
export function readPrefixes(owner: string, options: ByIpOptions): AddressPrefixes {
  rejectUnknownOptions(owner, options, ["ipv6Prefix", "ipv4Prefix"]);
  const { ipv6Prefix = DEFAULT_IPV6_PREFIX, ipv4Prefix = FULL_IPV4_PREFIX } = options;
  requirePrefix(`${owner}: ipv6Prefix`, ipv6Prefix, 128);
  requirePrefix(`${owner}: ipv4Prefix`, ipv4Prefix, 32);
  return ipv4Prefix === FULL_IPV4_PREFIX ? { ipv6Prefix } : { ipv6Prefix, ipv4Prefix };
}

function requirePrefix(option: string, prefix: number, max: number): void {
  if (Number.isInteger(prefix) && prefix >= 1 && prefix <= max) return;
  throw invalidValue(`${option} must be a whole number from 1 to ${max}`, prefix);
}

/** Options of `byHeader`. */
export interface ByHeaderOptions {
  /** Makes the hash an HMAC-SHA-256 with this key, so that someone who reads Redis cannot guess values. */
  readonly hashSecret?: string | undefined;
}

/** Returns the function that makes a subject's text of a header's value. Throws `HEADGATE_INVALID_OPTION`. */
export function readHash(
  owner: string,
  name: unknown,
  options: ByHeaderOptions,
): (value: string) => string {
  rejectUnknownOptions(owner, options, ["hashSecret"]);
  requireHeaderName(`${owner}: name`, name);
  const { hashSecret } = options;
  if (hashSecret === undefined) {
    return (value) =>
      formatSubject("sha256", createHash("sha256").update(value).digest("base64url"));
  }
  if (typeof hashSecret !== "string" || hashSecret === "") {
    throw invalidOption(`${owner}: hashSecret must be a non-empty string`);
  }
  return (value) =>
    formatSubject("hmac", createHmac("sha256", hashSecret).update(value).digest("base64url"));
}

/** Throws `HEADGATE_INVALID_OPTION` unless `name` is a field name: a token of RFC 9110 §5.6.2. */
export function requireHeaderName(option: string, name: unknown): asserts name is string {
  if (typeof name === "string" && /^[!#$%&'*+.^`|~\w-]{1,64}$/.test(name)) return;
  throw invalidValue(`${option} must be a header name`, name);
}

/* The subjects that key functions create, from values instead of requests: to look up or reset a client without a request. */

/**
 * The subject that `byIp(options)` counts an address as: `limiter.reset(subjectOfAddress("2001:db8::7"))`. Throws
 * `HEADGATE_INVALID_KEY` for anything but an IP address, and `HEADGATE_INVALID_OPTION`.
 */
export function subjectOfAddress(address: string, options: ByIpOptions = {}): string {
  const { ipv6Prefix, ipv4Prefix } = readPrefixes("subjectOfAddress", options);
  if (typeof address === "string" && isIP(address.replace(/%.*$/s, "")) !== 0) {
    return addressSubject(address, ipv6Prefix, ipv4Prefix);
  }
  throw new HeadgateError(
    "HEADGATE_INVALID_KEY",
    `subjectOfAddress takes an IP address, got ${formatReceived(address)}`,
  );
}

/**
 * The subject that `byHeader(name, options)` counts a header's value as. Throws `HEADGATE_EMPTY_KEY` for an empty value, and
 * `HEADGATE_INVALID_OPTION`.
 */
export function subjectOfHeader(
  name: string,
  value: string,
  options: ByHeaderOptions = {},
): string {
  const hash = readHash("subjectOfHeader", name, options);
  if (typeof value === "string" && value !== "") return hash(value);
  // Not the value itself: it may be a secret.
  throw new HeadgateError(
    "HEADGATE_EMPTY_KEY",
    "subjectOfHeader takes the value of a header, a non-empty string",
  );
}

/**
 * The subject of a request without a key, which counts by its address (`missingKey: "ip"`) and never shares a counter with a key. Throws
 * `HEADGATE_INVALID_KEY` for anything but an IP address.
 */
export function subjectOfMissingKey(address: string): string {
  return formatSubject("ip", subjectOfAddress(address));
}

/**
 * The subject that `combineKeys(...)` counts several subjects as, in the order of its keys:
 * `combineSubjects(subjectOfAddress("203.0.113.7"), "ada@example.org")`. Throws `HEADGATE_EMPTY_KEY`.
 */
export function combineSubjects(...subjects: readonly string[]): string {
  const isWhole = subjects.every((subject) => typeof subject === "string" && subject !== "");
  if (isWhole && subjects.length > 1) return joinSubjects(subjects);
  throw new HeadgateError(
    "HEADGATE_EMPTY_KEY",
    `combineSubjects takes two or more subjects, each a non-empty string, got ${formatReceived(subjects)}`,
  );
}
