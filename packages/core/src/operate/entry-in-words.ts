import type { LogEntry } from "../fleet/control/log-entry.ts";

/** Who acted: the operator's name, and the user of Redis unless it is `default`. The log may hold values of any type. */
export function whoInWords(entry: Pick<LogEntry, "by" | "aclUser">): string {
  const [by, user] = [textOf(entry.by), textOf(entry.aclUser)];
  if (user === "" || user === "default" || user === by) return by;
  return by === "" ? user : `${by} (${user})`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A subject by dimension as one text, the default dimension without its name; `everybody` for none. */
export function subjectInWords(subject: LogEntry["subject"], everybody: string): string {
  if (subject === undefined) return everybody;
  const entries = Object.entries(subject);
  const [first] = entries;
  if (entries.length === 1 && first?.[0] === "default") return first[1];
  return entries.map(([per, text]) => `${per}=${text}`).join(" ");
}
