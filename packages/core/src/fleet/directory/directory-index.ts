import type { Unreadable } from "../unreadable.ts";
import { readBody } from "../unreadable.ts";

/** A process that was seen. */
export interface SeenProcess {
  /** As its record is named. */
  readonly name: string;
  /** Milliseconds since the epoch, by the server's clock. */
  readonly seenAt: number;
}

/** Reads an index, as directory.lua writes it. */
export function readIndex(text: string): readonly SeenProcess[] | Unreadable {
  return readBody("directory", text, (body) => {
    const lines = body === "" ? [] : body.split("\n");
    const seen = lines.map((line) => /^([\w-]{16}) (\d{10})$/.exec(line));
    if (seen.includes(null)) return "damaged";
    return seen.map((match) => ({
      name: match?.[1] as string,
      seenAt: Number(match?.[2]) * 1_000,
    }));
  });
}
