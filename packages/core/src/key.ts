import { createHash } from "node:crypto";

/** A longer part of a key is replaced by a hash of it, so that no client chooses the size of a key. */
const MAX_PART = 64;

/**
 * Writes text as a part of a key: letters, digits and harmless signs stand for themselves, everything else is escaped, so
 * that two texts never give the same part and no text can leave its part (a colon) or the hash tag (a brace).
 * A part that would be longer than 64 bytes becomes `#` and the SHA-256 of it; no literal part holds a `#`.
 */
export function escapePart(text: string): string {
  return fit(text.replace(/[^\w.~@/-]/g, escapeUnit));
}

/** The same for the subject, which braces enclose: colons of IPv6 addresses stay readable. */
export function escapeSubject(subject: string): string {
  if (subject.length <= MAX_PART && /^[\w.~@/:-]+$/.test(subject)) return subject;
  return fit(subject.replace(/[^\w.~@/:-]/g, escapeUnit));
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

function fit(part: string): string {
  if (part.length <= MAX_PART) return part;
  return `#${createHash("sha256").update(part).digest("base64url")}`;
}
