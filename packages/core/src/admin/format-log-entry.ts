import { isPlainObject } from "../common/type-guards.ts";
import type { LogEntry } from "../control/log-entry.ts";

/** Formats the operator of an entry: the name, and the Redis user unless it is `default`. The log may hold values of any type. */
export function formatActor(entry: Pick<LogEntry, "by" | "aclUser">): string {
  const [by, user] = [textOf(entry.by), textOf(entry.aclUser)];
  if (user === "" || user === "default" || user === by) return by;
  return by === "" ? user : `${by} (${user})`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Formats a subject by dimension as one text, the default dimension without its name; `allSubjects` if there is no subject. */
export function formatSubject(subject: LogEntry["subject"], allSubjects: string): string {
  if (subject === undefined) return allSubjects;
  const entries = Object.entries(subject);
  const [first] = entries;
  if (entries.length === 1 && first?.[0] === "default") return first[1];
  return entries.map(([per, text]) => `${per}=${text}`).join(" ");
}

/**
 * Formats the limits of an override, also from an entry of the log, which may hold values of any type:
 * `100-per-1m: limit 500, burst 50; in shadow mode`.
 */
export function formatOverride(override: unknown): string {
  const { limits, shadow } = fieldsOf(override);
  const numbers = Object.entries(fieldsOf(limits)).map(([name, given]) => {
    const written = Object.entries(fieldsOf(given)).map(
      ([what, number]) => `${what} ${formatLogValue(number)}`,
    );
    return `${name}: ${written.join(", ")}`;
  });
  if (typeof shadow !== "boolean") return numbers.join("; ");
  return [...numbers, shadow ? "in shadow mode" : "not in shadow mode"].join("; ");
}

/** A text or a number of the log; `?` for anything else, of which the log may hold what cannot even be written. */
export function formatLogValue(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "?";
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isPlainObject(value) ? value : {};
}
