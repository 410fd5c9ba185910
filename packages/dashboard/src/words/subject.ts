import type { SubjectOf } from "../api.ts";

/** A subject by dimension as one text: the default dimension without its name. */
export function formatSubject(subject: SubjectOf | undefined): string {
  if (subject === undefined) return "all clients";
  const entries = Object.entries(subject);
  const [first] = entries;
  if (entries.length === 1 && first?.[0] === "default") return first[1];
  return entries.map(([per, text]) => `${per}=${text}`).join(" ");
}
