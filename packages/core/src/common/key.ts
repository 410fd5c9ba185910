import { createHash } from "node:crypto";

/** Longer parts of a key are replaced by their hash, so that a client cannot choose the size of a key. */
const MAX_PART = 64;

/**
 * Escapes text for use as a part of a key. Letters, digits and harmless signs stay as they are and everything else is escaped,
 * so that two texts never give the same part. No text can end its part with a colon, or the hash tag with a brace. A part that
 * would exceed 64 bytes becomes `#` and a SHA-256; no literal part contains a `#`.
 */
export function escapePart(text: string): string {
  return escapeWith(text, /^[\w.~@/-]*$/, /[^\w.~@/-]/g);
}

/** Escapes a subject, which is inside braces, so that the colons of IPv6 addresses can stay readable. */
export function escapeSubject(subject: string): string {
  return escapeWith(subject, /^[\w.~@/:-]*$/, /[^\w.~@/:-]/g);
}

/**
 * Bounds a subject for use as a key in this process: one of at most 64 characters stays as it is, so that no text has to be built for
 * a decision. Two subjects never give the same key.
 */
export function boundSubject(subject: string): string {
  return subject.length <= MAX_PART && subject[0] !== "#" ? subject : `#${escapeSubject(subject)}`;
}

/** The text of an escaped part of a key; undefined for a hash or an invalid part. */
export function unescapePart(part: string): string | undefined {
  const text = part.replace(/%u([\da-f]{4})|%([\da-f]{2})/g, (_, unit, byte) =>
    String.fromCharCode(Number.parseInt(unit ?? byte, 16)),
  );
  return escapeSubject(text) === part && !part.startsWith("#") ? text : undefined;
}

/** A 48-bit fingerprint of a text: enough to distinguish the policies of one limiter. */
export function fingerprint(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 8);
}

/** Escapes UTF-16 code units, not bytes, because an unpaired surrogate has no bytes. */
function escapeUnit(unit: string): string {
  const code = unit.charCodeAt(0);
  return code < 0x100
    ? `%${code.toString(16).padStart(2, "0")}`
    : `%u${code.toString(16).padStart(4, "0")}`;
}

function escapeWith(text: string, plain: RegExp, special: RegExp): string {
  if (plain.test(text)) return text.length <= MAX_PART ? text : hash(text);
  // Hashes the code units, not their escapes, which could be many; no escaped text begins with the sign before the hash.
  if (text.length > MAX_PART) return hash("#", Buffer.from(text, "utf16le"));
  const escaped = text.replace(special, escapeUnit);
  return escaped.length <= MAX_PART ? escaped : hash(escaped);
}

function hash(...parts: readonly (string | Buffer)[]): string {
  const sha256 = createHash("sha256");
  for (const part of parts) sha256.update(part);
  return `#${sha256.digest("base64url")}`;
}
