import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { run } from "../../../packages/cli/src/run.ts";

/** One command, and what it prints on both its streams. */
export interface Exchange {
  /** As it is typed, behind `$ `. */
  readonly typed: string;
  readonly printed: string;
}

/** Reads a session: lines that begin with `$ `, each with what it prints. */
export function readSession(session: string): readonly Exchange[] {
  const [before, ...rest] = session.split(/^\$ /m);
  if (before !== "") throw new Error(`a session begins with "$ ", not with ${before}`);
  return rest.map((exchange) => {
    const end = exchange.indexOf("\n");
    return { typed: exchange.slice(0, end), printed: exchange.slice(end + 1) };
  });
}

/** Plays a line on a Redis: `headgate ...`, and `; echo $?` behind it for its exit code. */
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

/** The words of a line as a shell makes them: apart, but where they are quoted. */
function splitWords(line: string): readonly string[] {
  const words = [...line.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) => word);
  return words.map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, "$1$2"));
}
