/** Why a record cannot be read: it is damaged, or a version of Headgate with another format wrote it. */
export type UnreadableReason = "damaged" | "other-format";

/** The only format that this version writes and reads. */
const FORMAT = "1";

/** Reads a text that begins with the line `headgate KIND FORMAT`, as a script wrote it. */
export function parseBody<T>(
  kind: "registry" | "usage",
  text: string,
  read: (body: string) => T | UnreadableReason,
): T | UnreadableReason {
  const [head, found, format] = /^headgate (\w+) (\d+)(?:\n|$)/.exec(text) ?? [];
  if (head === undefined || found !== kind) return "damaged";
  return format === FORMAT ? read(text.slice(head.length)) : "other-format";
}
