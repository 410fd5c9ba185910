import { escapeSubject } from "@headgate/core/internal";

/** Longer targets are shortened to their beginning and a hash, so that memory stays bounded. Shortened names are longer than this. */
const MAX_NAME = 100;

/** How many characters stay readable, for logs. */
const BEGINNING = 60;

/** The name of a target in this process: at most 105 characters, and a different one for each target. */
export function nameOfTarget(target: string): string {
  if (target.length <= MAX_NAME) return target;
  // The same hash as in the target's keys.
  return `${target.slice(0, BEGINNING)}…${escapeSubject(target)}`;
}

/** A copy with its own memory: V8 keeps a whole string alive as long as a slice of it. */
export function copyOfText(text: string): string {
  return Buffer.from(text, "utf16le").toString("utf16le");
}
