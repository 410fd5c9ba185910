/** The number of entries. The hash of a string selects its entry. */
const SIZE = 65_536;

const FIRST_NOT_ASCII = 0x80;

/**
 * Decodes bytes into strings and caches recent ones, so that equal bytes mostly give the same string: a log repeats clients and
 * paths.
 */
export class StringCache {
  readonly #strings: string[] = new Array(SIZE).fill("");

  /** Decodes UTF-8 bytes. */
  get(bytes: Buffer, start: number, end: number): string {
    let hash = 0;
    for (let i = start; i < end; i += 1) hash = (hash * 31 + (bytes[i] as number)) | 0;
    const index = (hash ^ (hash >>> 16)) & (SIZE - 1);
    const cached = this.#strings[index] as string;
    if (equalsAscii(cached, bytes, start, end)) return cached;
    const text = bytes.toString("utf8", start, end);
    this.#strings[index] = text;
    return text;
  }
}

/** Whether a text equals some bytes. Only ASCII is compared. */
function equalsAscii(text: string, bytes: Buffer, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let i = start; i < end; i += 1) {
    const byte = bytes[i] as number;
    if (byte >= FIRST_NOT_ASCII || text.charCodeAt(i - start) !== byte) return false;
  }
  return true;
}
