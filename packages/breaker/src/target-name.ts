import { escapeSubject } from "@headgate/core/floors";

/** A longer target goes by its beginning and a hash, so that nobody chooses how much is kept. No such name is as short as this. */
const MAX_NAME = 100;

/** So many characters of it are told, for those who read logs. */
const BEGINNING = 60;

/** The name that a target goes by in this process, 105 characters at most: two targets never have the same. */
export function nameOfTarget(target: string): string {
  if (target.length <= MAX_NAME) return target;
  // The hash is the one in the target's keys.
  return `${target.slice(0, BEGINNING)}…${escapeSubject(target)}`;
}

/** The same text, which keeps nothing else in memory: a piece of a text keeps the whole of it. */
export function copyOfText(text: string): string {
  return Buffer.from(text, "utf16le").toString("utf16le");
}
