import { isIP } from "node:net";
import { formatReceived, HeadgateError } from "../common/errors.ts";
import { addressSubject } from "../net/client-address.ts";
import type { ByHeaderOptions, ByIpOptions } from "./keys.ts";
import { readHash, readPrefixes } from "./keys.ts";
import { formatSubject, joinSubjects } from "./subject.ts";

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
