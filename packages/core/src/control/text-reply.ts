/** Replies are integers: text is in them as its bytes. Undefined for what is no text of a client's. */
export function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  return typeof value === "string" ? Buffer.from(value) : undefined;
}

/** The text that a reply holds from a place on. */
export function textFrom(reply: readonly number[], place: number): string {
  return Buffer.from(reply.slice(place)).toString();
}
