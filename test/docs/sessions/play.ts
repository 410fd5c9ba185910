import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { run } from "../../../packages/cli/src/run.ts";

/** One command and its output on both streams. */
export interface Exchange {
  /** The command line without the prompt `$ `. */
  readonly typed: string;
  readonly printed: string;
}

/** Reads a session: lines that begin with `$ `, each with its output. */
export function readSession(session: string): readonly Exchange[] {
  const [before, ...rest] = session.split(/^\$ /m);
  if (before !== "") throw new Error(`a session begins with "$ ", not with ${before}`);
  return rest.map((exchange) => {
    const end = exchange.indexOf("\n");
    return { typed: exchange.slice(0, end), printed: exchange.slice(end + 1) };
  });
}

/** Runs a line on a Redis: `headgate ...`, and `; echo $?` after it for the exit code. */
export async function play(typed: string, redis: string): Promise<string> {
  const [command = "", ...more] = typed.split("; ");
  const [program, ...args] = splitWords(command);
  if (program !== "headgate") throw new Error(`a session types headgate, not ${program}`);
  if (more.length > 0 && more.join() !== "echo $?") throw new Error(`not played: ${more}`);
  const both = new PassThrough();
  const printed = text(both);
  const exitCode = await run(args, {
    environment: { REDIS_URL: redis },
    stdin: new PassThrough().end(),
    stdout: both,
    stderr: both,
    signal: new AbortController().signal,
  });
  both.end(more.length > 0 ? `${exitCode}\n` : "");
  return printed;
}

/** Splits a line into words as a shell does, with quotes. */
function splitWords(line: string): readonly string[] {
  const words = [...line.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) => word);
  return words.map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, "$1$2"));
}
