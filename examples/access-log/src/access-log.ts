import { createReadStream } from "node:fs";
import { Failure, messageOf } from "./failure.ts";
import type { LogEntry } from "./log-line.ts";
import { parseLogLine } from "./log-line.ts";

/** An access log, ready to be replayed. */
export interface AccessLog {
  /** In the order of their times; equal times in the order of the file. */
  readonly entries: readonly LogEntry[];
  readonly clients: number;
  /** Lines that are no requests. */
  readonly malformed: number;
  /** The first few of them. */
  readonly examples: readonly MalformedLine[];
}

interface MalformedLine {
  /** From 1. */
  readonly number: number;
  readonly text: string;
  readonly reason: string;
}

const MAX_EXAMPLES = 5;

/** A file with a longer line is no access log. */
const MAX_LINE = 1_048_576;

/** Reads an access log; empty lines are passed over. Throws a `Failure` for a file that cannot be read. */
export async function readAccessLog(path: string): Promise<AccessLog> {
  const entries: LogEntry[] = [];
  const examples: MalformedLine[] = [];
  const texts = new Map<string, string>();
  let number = 0;
  let malformed = 0;

  // Equal texts are kept once: what is cut out of a line would otherwise keep the whole line in memory.
  function keepOnce(text: string): string {
    const known = texts.get(text);
    if (known !== undefined) return known;
    const copy = Buffer.from(text).toString();
    texts.set(copy, copy);
    return copy;
  }

  for await (const lines of linesOf(path)) {
    for (const line of lines) {
      number += 1;
      const text = line.trim();
      if (text === "") continue;
      const entry = parseLogLine(text);
      if (typeof entry !== "string") {
        const { time, client, method, path } = entry;
        entries.push({
          time,
          client: keepOnce(client),
          method: keepOnce(method),
          path: keepOnce(path),
        });
        continue;
      }
      malformed += 1;
      if (examples.length < MAX_EXAMPLES) examples.push({ number, text, reason: entry });
    }
  }
  // The sort is stable: equal times stay as they are.
  entries.sort((a, b) => a.time - b.time);
  const clients = new Set(entries.map(({ client }) => client)).size;
  return { entries, clients, malformed, examples };
}

/** The lines of a file, as many at once as were read at once. */
async function* linesOf(path: string): AsyncGenerator<string[]> {
  let rest = "";
  try {
    for await (const chunk of createReadStream(path, { encoding: "utf8" })) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > MAX_LINE) throw new Error("a line is longer than 1 MiB");
      yield lines;
    }
  } catch (error) {
    throw new Failure(`cannot read the log ${path}: ${messageOf(error)}`, 1, { cause: error });
  }
  yield [rest];
}
