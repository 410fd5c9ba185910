/** What an index begins with: the format in which store/directory.lua writes it. */
const HEAD = /^headgate directory (\d+)(?=\n|$)/;

const FORMAT = "1";

/** A process that was seen. */
export interface SeenProcess {
  /** As its record is named. */
  readonly name: string;
  /** Milliseconds since the epoch, by the server's clock. */
  readonly seenAt: number;
}

/** Reads an index. What makes no sense is `"damaged"`; another format is not read at all. */
export function readIndex(text: string): readonly SeenProcess[] | "damaged" | "other-format" {
  const [head, format] = HEAD.exec(text) ?? [];
  if (head === undefined) return "damaged";
  if (format !== FORMAT) return "other-format";
  const lines = text.split("\n").slice(1);
  const seen = lines.map((line) => /^([\w-]{16}) (\d{10})$/.exec(line));
  if (seen.includes(null)) return "damaged";
  return seen.map((match) => ({
    name: match?.[1] as string,
    seenAt: Number(match?.[2]) * 1_000,
  }));
}
