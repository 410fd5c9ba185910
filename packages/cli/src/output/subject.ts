/** A subject by dimension as one text: the default dimension without its name; `(everybody)` for none. */
export function formatSubject(subject: Readonly<Record<string, string>> | undefined): string {
  if (subject === undefined) return "(everybody)";
  const entries = Object.entries(subject);
  const [first] = entries;
  if (entries.length === 1 && first?.[0] === "default") return first[1];
  return entries.map(([per, text]) => `${per}=${text}`).join(" ");
}
