import { VERSION_DIGITS } from "../fleet/control/record-text.ts";
import { parseJson } from "../from-json.ts";
import { isPlainObject } from "../plain-object.ts";
import type { ForgottenSubject } from "./forgotten-subject.ts";
import type { ActionLog, LogEntry } from "./operator.ts";

/** An entry as the server takes it, which puts its time in front. */
export type EntryText = Omit<LogEntry, "at">;

/** What is done to the deny list, which is of no limiter. */
const OF_DENY_LIST: readonly unknown[] = ["addToDenyList", "removeFromDenyList"];

/** What can have been done. */
const KINDS: readonly unknown[] = [
  "reset",
  "block",
  "unblock",
  "setOverride",
  "unsetOverride",
  "forget",
  "breaker",
  ...OF_DENY_LIST,
];

/** Writes an entry: one line. */
export function writeEntry(entry: EntryText): string {
  return JSON.stringify(entry);
}

/** Reads the entries of a log, a line each. A line is empty for an entry that was too long to be sent. */
export function readEntries(text: string): ActionLog {
  const lines = text === "" ? [] : text.split("\n");
  const entries = lines.map(readEntry).filter((entry) => entry !== undefined);
  return { entries, unreadable: lines.length - entries.length };
}

/**
 * The entries that name a subject, as they are kept, each with what may be kept of it: no reason, which may name it as well, and
 * nothing of what was there before and after.
 */
export function forgottenEntries(
  text: string,
  forgotten: ForgottenSubject,
): (readonly [entry: string, replacement: string])[] {
  return linesOf(text).flatMap((line) => {
    const entry = readEntry(line);
    if (entry?.subject === undefined || entry.kind === "breaker") return [];
    if (!forgotten.isIn(entry.subject)) return [];
    const { kind, limiter, by, aclUser } = entry;
    const kept = { kind, limiter, subject: forgotten.hideIn(entry.subject), by, aclUser };
    return [[line, line.slice(0, VERSION_DIGITS) + writeEntry(kept)] as const];
  });
}

function linesOf(text: string): readonly string[] {
  return text.split("\n").filter((line) => line !== "");
}

function readEntry(line: string): LogEntry | undefined {
  const microseconds = line.slice(0, VERSION_DIGITS);
  const entry = parseJson(line.slice(VERSION_DIGITS));
  if (!/^\d{16}$/.test(microseconds) || !isEntry(entry)) return undefined;
  return { ...entry, at: new Date(Math.floor(Number(microseconds) / 1_000)) };
}

function isEntry(entry: unknown): entry is EntryText {
  if (!isPlainObject(entry) || !KINDS.includes(entry["kind"])) return false;
  const { kind, limiter, network } = entry;
  return typeof (OF_DENY_LIST.includes(kind) ? network : limiter) === "string";
}
