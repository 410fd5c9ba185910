/** A step's reply with a text beside its integers: a large text is not copied into an array. */
interface TextReply extends Array<number> {
  bytes?: Uint8Array;
}

/** The bytes of a text as clients return it; undefined for anything else. */
export function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  return typeof value === "string" ? Buffer.from(value) : undefined;
}

/** A reply of integers with a text. */
export function withBytes(integers: readonly number[], bytes: Uint8Array): readonly number[] {
  const reply: TextReply = [...integers];
  reply.bytes = bytes;
  return reply;
}

/** The text of a reply; empty where it has none. */
export function textOf(reply: readonly number[]): string {
  const { bytes } = reply as TextReply;
  return bytes === undefined
    ? ""
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}
