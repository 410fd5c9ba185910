import { isPlainObject, isString, parseJson, recordOf } from "../common/type-guards.ts";
import type { ForgottenSubject } from "./record.ts";
import { toDate } from "./record.ts";
import { VERSION_DIGITS } from "./record-text.ts";

/** The kinds of actions. */
const KINDS = [
  "reset",
  "block",
  "unblock",
  "setOverride",
  "unsetOverride",
  "forget",
  "breaker",
  "addToDenyList",
  "removeFromDenyList",
] as const;

/** The kinds of actions on the deny list, which belongs to no limiter. */
const DENY_LIST_KINDS: readonly unknown[] = [
  "addToDenyList",
  "removeFromDenyList",
] satisfies LogEntry["kind"][];

/** The log of actions, newest first. */
export interface ActionLog {
  readonly entries: readonly LogEntry[];
  /** How many entries cannot be read, because another version or another program wrote them. */
  readonly unreadable: number;
}

/** One action in the log. */
export interface LogEntry {
  /** The time of the action, by the server's clock. */
  readonly at: Date;
  readonly kind: (typeof KINDS)[number];
  /** The name of the limiter or breaker; missing for the deny list, which applies to all limiters. */
  readonly limiter?: string | undefined;
  /** The address or network; only for the deny list. */
  readonly network?: string | undefined;
  /**
   * By dimension; a breaker's target as `target`. Missing for all subjects. A subject that was forgotten since is `~forgotten~`
   * and 24 bits of its SHA-256 as base64url.
   */
  readonly subject?: Readonly<Record<string, string>> | undefined;
  /** The operator, as named by the system or the application. */
  readonly by?: string | undefined;
  /** The operator's user on the server; missing if the server does not allow asking for it. */
  readonly aclUser?: string | undefined;
  readonly reason?: string | undefined;
  /** The state before and after, as JSON: an inspection, an override, or an entry of the deny list. */
  readonly before?: unknown;
  readonly after?: unknown;
}

/** An entry as passed to the server, which prepends its time. */
export type NewLogEntry = Omit<LogEntry, "at">;

/** Writes an entry as one line. */
export function formatEntry(entry: NewLogEntry): string {
  return JSON.stringify(entry);
}

/** Reads the entries of a log, a line each. A line is empty for an entry that was too long to be sent. */
export function parseEntries(text: string): ActionLog {
  const lines = text === "" ? [] : text.split("\n");
  const entries = lines.map(parseEntry).filter((entry) => entry !== undefined);
  return { entries, unreadable: lines.length - entries.length };
}

/**
 * Stored entries that name a subject, each with its redacted replacement: without the reason, which may also name the subject,
 * and without the states before and after.
 */
export function redactedEntries(
  text: string,
  forgotten: ForgottenSubject,
): (readonly [entry: string, replacement: string])[] {
  return linesOf(text).flatMap((line) => {
    const entry = parseEntry(line);
    if (entry?.subject === undefined || entry.kind === "breaker") return [];
    if (!forgotten.matches(entry.subject)) return [];
    const { kind, limiter, by, aclUser } = entry;
    const kept = { kind, limiter, subject: forgotten.redact(entry.subject), by, aclUser };
    return [[line, line.slice(0, VERSION_DIGITS) + formatEntry(kept)] as const];
  });
}

function linesOf(text: string): readonly string[] {
  return text.split("\n").filter((line) => line !== "");
}

function parseEntry(line: string): LogEntry | undefined {
  const microseconds = line.slice(0, VERSION_DIGITS);
  const entry = parseJson(line.slice(VERSION_DIGITS));
  if (!/^\d{16}$/.test(microseconds) || !isEntry(entry)) return undefined;
  return { ...entry, at: toDate(Number(microseconds)) };
}

const isSubject = recordOf(isString);

function isEntry(entry: unknown): entry is NewLogEntry {
  if (!isPlainObject(entry) || !KINDS.includes(entry["kind"] as never)) return false;
  const { kind, limiter, network, subject } = entry;
  if (subject !== undefined && !isSubject(subject)) return false;
  return typeof (DENY_LIST_KINDS.includes(kind) ? network : limiter) === "string";
}
