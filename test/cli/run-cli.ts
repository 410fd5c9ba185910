import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { run } from "../../packages/cli/src/run.ts";

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** What standard input has to read. Default: nothing. */
  readonly input?: string;
  /** The columns of the terminal that stdout and stderr are. Default: they are none. */
  readonly terminal?: number;
  readonly signal?: AbortSignal;
}

/** What a command came to. */
export interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `headgate` in this process, as the shell would. */
export async function runCli(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const { environment = {}, input = "", terminal, signal = new AbortController().signal } = options;
  const streams = [new PassThrough(), new PassThrough()] as const;
  if (terminal !== undefined) {
    for (const stream of streams) Object.assign(stream, { isTTY: true, columns: terminal });
  }
  const [stdout, stderr] = streams;
  const texts = Promise.all(streams.map(text));
  const stdin = new PassThrough().end(input);
  const exitCode = await run(args, { environment, stdin, stdout, stderr, signal });
  for (const stream of streams) stream.end();
  const [out = "", err = ""] = await texts;
  return { exitCode, stdout: out, stderr: err };
}
