import type { Subjects } from "@headgate/core";

/** The most subjects that are remembered; the one set longest ago is forgotten first. */
const MAX_SUBJECTS = 10_000;

/** The key of a subject in a map. */
export function idOf(subject: Subjects): string {
  return typeof subject === "string" ? subject : JSON.stringify(subject);
}

/** Sets the entry of a subject, and forgets that of another if there are too many. */
export function remember<Value>(map: Map<string, Value>, id: string, value: Value): void {
  // A map iterates over its keys in insertion order, so re-inserting makes this the newest.
  map.delete(id);
  map.set(id, value);
  if (map.size <= MAX_SUBJECTS) return;
  for (const [oldest] of map) {
    map.delete(oldest);
    return;
  }
}
