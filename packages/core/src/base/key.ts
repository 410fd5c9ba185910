import { createHash } from "node:crypto";

/** A longer part of a key is replaced by its hash, so that no client chooses the size of a key. */
const MAX_PART = 64;

/**
 * Writes text as a part of a key: letters, digits and harmless signs stand for themselves, everything else is escaped, so
 * that two texts never give the same part and no text can leave its part (a colon) or the hash tag (a brace).
 * A part that would be longer than 64 bytes becomes `#` and a SHA-256; no literal part holds a `#`.
 */
export function escapePart(text: string): string {
  return write(text, /^[\w.~@/-]*$/, /[^\w.~@/-]/g);
}

/** The same for the subject, which braces enclose: colons of IPv6 addresses stay readable. */
export function escapeSubject(subject: string): string {
  return write(subject, /^[\w.~@/:-]*$/, /[^\w.~@/:-]/g);
}

/** The text that a part of a key stands for; undefined where it is a hash, or no part. */
export function readPart(part: string): string | undefined {
  const text = part.replace(/%u([\da-f]{4})|%([\da-f]{2})/g, (_, unit, byte) =>
    String.fromCharCode(Number.parseInt(unit ?? byte, 16)),
  );
  return escapeSubject(text) === part && !part.startsWith("#") ? text : undefined;
}

/** 48 bits that stand for a text: enough to tell the policies of one limiter apart. */
export function fingerprint(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 8);
}

/** Escapes UTF-16 code units, not bytes: a lone surrogate has no bytes of its own. */
function escapeUnit(unit: string): string {
  const code = unit.charCodeAt(0);
  return code < 0x100
    ? `%${code.toString(16).padStart(2, "0")}`
    : `%u${code.toString(16).padStart(4, "0")}`;
}

function write(text: string, plain: RegExp, special: RegExp): string {
  if (plain.test(text)) return text.length <= MAX_PART ? text : hash(text);
  // Its code units, not its escapes, which could be many; no escaped text begins with the sign in front of them.
  if (text.length > MAX_PART) return hash("#", Buffer.from(text, "utf16le"));
  const escaped = text.replace(special, escapeUnit);
  return escaped.length <= MAX_PART ? escaped : hash(escaped);
}

function hash(...parts: readonly (string | Buffer)[]): string {
  const sha256 = createHash("sha256");
  for (const part of parts) sha256.update(part);
  return `#${sha256.digest("base64url")}`;
}
