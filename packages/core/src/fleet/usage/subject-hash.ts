import { createHash } from "node:crypto";

/** The hash that stands for a subject in usage: the first 96 bits of its SHA-256, in 16 characters. */
export function hashSubject(subject: string): string {
  return createHash("sha256").update(subject).digest("base64url").slice(0, 16);
}
