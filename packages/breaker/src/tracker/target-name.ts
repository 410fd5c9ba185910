import { escapeSubject } from "@headgate/core/internal";

/** Longer targets are shortened to their beginning and a hash, so that memory stays bounded. Shortened names are longer than this. */
const MAX_NAME_LENGTH = 100;

/** How many characters stay readable, for logs. */
const PREFIX_LENGTH = 60;

/** The name of a target in this process: at most 105 characters, and a different one for each target. */
export function toTargetName(target: string): string {
  if (target.length <= MAX_NAME_LENGTH) return target;
  // The same hash as in the target's keys.
  return `${target.slice(0, PREFIX_LENGTH)}…${escapeSubject(target)}`;
}

/** A copy with its own memory: V8 keeps a whole string alive as long as a slice of it. */
export function copyText(text: string): string {
  return Buffer.from(text, "utf16le").toString("utf16le");
}
