import { HeadgateError } from "../errors.ts";

/**
 * Marks a subject that Headgate created; JSON from a client cannot contain it. No public type has it: the compiler would take the
 * same type from another copy of the package, or from its other format, for a different one.
 */
const SUBJECT: unique symbol = Symbol.for("@headgate/core.subject") as never;

interface MarkedSubject extends KindSubject {
  readonly [SUBJECT]: string;
}

/**
 * A subject of a special kind, which never equals a string that a key function returns: strings that begin with `~` get
 * another one in front, and all of these begin with `~` and a letter.
 *
 * It is not a string, and throws `HEADGATE_INVALID_KEY` if it is used as one, in JSON too: `[object Object]` and `{}` would be one
 * bucket for everybody.
 */
export interface KindSubject {
  toString(): never;
  toJSON(): never;
}

function refuseText(): never {
  throw new HeadgateError(
    "HEADGATE_INVALID_KEY",
    "what byIp, byHeader and byAll return cannot be used as a string, because it would not say who is counted: join keys with byAll(byIp(), (request) => ...), or use the address that a key function gets",
  );
}

export type SubjectKind = "sha256" | "hmac" | "ip" | "all";

/** The text of a subject of a kind. */
export function kindText(kind: SubjectKind, value: string): string {
  return `~${kind}~${value}`;
}

export function kindSubject(kind: SubjectKind, value: string): KindSubject {
  return plainSubject(kindText(kind, value));
}

/** A subject that stands for itself: an address. */
export function plainSubject(value: string): KindSubject {
  const subject: MarkedSubject = { [SUBJECT]: value, toString: refuseText, toJSON: refuseText };
  return subject;
}

/** What a key function returned, as the subject's text, a whole number in digits; undefined if it is missing or empty; null if it is not a subject. */
export function subjectText(value: unknown): string | undefined | null {
  if (typeof value === "string") {
    if (value === "") return undefined;
    return value.charCodeAt(0) === 0x7e ? `~${value}` : value;
  }
  if (Number.isSafeInteger(value) || typeof value === "bigint") return String(value);
  if (value === undefined || value === null) return undefined;
  const kind = typeof value === "object" ? (value as Partial<MarkedSubject>)[SUBJECT] : undefined;
  return kind ?? null;
}

/**
 * Several subjects as one, each list of them as a text of its own: `~/` stands between two, and a `~` inside is doubled.
 */
export function joinSubjects(texts: readonly string[]): string {
  return kindText("all", texts.map((text) => text.replaceAll("~", "~~")).join("~/"));
}
