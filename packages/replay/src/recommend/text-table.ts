/** The most texts; their numbers fit into 16 bits. */
const MAX_TEXTS = 65_535;

/** The bytes of a text without its characters, at the moment when the table grows. */
const BYTES_PER_TEXT = 130;

/** Numbers distinct texts from 1. The number 0 stands for no text, and for all texts that the table has no room for. */
export class TextTable {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [""];
  #room: number;

  /** `room` is in bytes. */
  constructor(room: number) {
    this.#room = room;
  }

  /** The number of a text. */
  add(text: string): number {
    return text === "" ? 0 : (this.#numbers.get(text) ?? this.#addNew(text));
  }

  /** The text of a number. */
  textOf(number: number): string {
    return this.#texts[number] as string;
  }

  #addNew(text: string): number {
    const bytes = BYTES_PER_TEXT + 2 * text.length;
    const number = this.#texts.length;
    if (number > MAX_TEXTS || bytes > this.#room) return 0;
    this.#room -= bytes;
    // A part of a long line would keep the whole line in memory.
    const copy = Buffer.from(text, "utf16le").toString("utf16le");
    this.#texts.push(copy);
    this.#numbers.set(copy, number);
    return number;
  }
}
