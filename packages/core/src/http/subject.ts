import { HeadgateError } from "../common/errors.ts";

/** The subject of a request in each dimension; null if the limits of that dimension are left out. */
export type RequestSubjects = Readonly<Record<string, string | null>>;

/**
 * Marks a subject that Headgate created; JSON from a client cannot contain it. No public type has it: the compiler would
 * take the same type from another copy of the package for a different one.
 */
const SUBJECT: unique symbol = Symbol.for("@headgate/core.subject") as never;

/**
 * A subject created by Headgate's own key functions. It never equals a string returned by an application's key function: an
 * application's string that begins with `~` gets another one in front, and all of these begin with `~` and a letter.
 *
 * Using one as a string or as JSON throws `HEADGATE_INVALID_KEY`: otherwise all clients would share the
 * bucket `[object Object]` or `{}`.
 */
export interface OpaqueSubject {
  toString(): never;
  toJSON(): never;
}

function throwOnText(): never {
  throw new HeadgateError(
    "HEADGATE_INVALID_KEY",
    "a result of byIp, byHeader or combineKeys cannot be used as a string, because all clients would share one bucket: combine keys with combineKeys(byIp(), (request) => ...), or use the address that a key function gets",
  );
}

/** A subject that has this text. */
export function toOpaqueSubject(text: string): OpaqueSubject {
  const subject = { [SUBJECT]: text, toString: throwOnText, toJSON: throwOnText };
  return subject;
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

/** The text of a subject returned by a key function. A whole number is written in digits. */
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
