/** Marks a subject that Headgate made; no JSON a client sends can carry it. */
const SUBJECT: unique symbol = Symbol.for("@headgate/core.subject") as never;

/**
 * A subject of a kind of its own, which no text that a key function returns can equal: those that begin with `~` get
 * another one in front, and all of these begin with `~` and a letter.
 */
export interface KindSubject {
  readonly [SUBJECT]: string;
}

export function kindSubject(kind: "sha256" | "hmac" | "ip", value: string): KindSubject {
  return { [SUBJECT]: `~${kind}~${value}` };
}

/** A subject that stands for itself: an address. */
export function plainSubject(value: string): KindSubject {
  return { [SUBJECT]: value };
}

/** What a key function returned, as the subject's text; undefined when it is missing or empty; null when it is no subject. */
export function subjectText(value: unknown): string | undefined | null {
  if (typeof value === "string") {
    if (value === "") return undefined;
    return value.charCodeAt(0) === 0x7e ? `~${value}` : value;
  }
  if (value === undefined || value === null) return undefined;
  const kind = typeof value === "object" ? (value as Partial<KindSubject>)[SUBJECT] : undefined;
  return kind ?? null;
}
