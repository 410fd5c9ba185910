import type { Readable, Writable } from "node:stream";
import { isCancel, password } from "@clack/prompts";
import type { CommandContext } from "../command/cli.ts";
import { CommandError } from "../command/command-error.ts";
import { isTerminal } from "../output/style.ts";

/**
 * A secret from standard input: its next line, or, where that is a terminal, what is typed, without an echo. The rest stays
 * to be read. Rejects with a `CommandError` where there is none.
 */
export async function readSecret(
  what: string,
  { stdin, stderr, signal }: Pick<CommandContext, "stdin" | "stderr" | "signal">,
): Promise<string> {
  const secret = isTerminal(stdin)
    ? await promptSecret(what, { stdin, stderr, signal })
    : await readLine(stdin, signal);
  if (secret === "") throw new CommandError(`standard input has no ${what} in its first line`);
  return secret;
}

async function promptSecret(
  what: string,
  { stdin, stderr, signal }: Pick<CommandContext, "stdin" | "stderr" | "signal">,
): Promise<string> {
  const typed = await password({
    message: `${what[0]?.toUpperCase()}${what.slice(1)}`,
    // Not even its length is shown.
    mask: "",
    withGuide: false,
    input: stdin as Readable,
    output: stderr as Writable,
    signal,
  });
  // The terminal hands over Ctrl-C as a key while it asks.
  if (isCancel(typed)) throw new CommandError("interrupted", 130);
  return typed;
}

/** The first line without its end; all there is where it has none. */
function readLine(stdin: NodeJS.ReadableStream, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);

    function onData(chunk: Buffer | string): void {
      received = Buffer.concat([received, Buffer.from(chunk)]);
      const end = received.indexOf("\n");
      if (end === -1) return;
      stop();
      const rest = received.subarray(end + 1);
      if (rest.length > 0) stdin.unshift(rest);
      resolve(received.toString("utf8", 0, end).replace(/\r$/, ""));
    }
    function onEnd(): void {
      stop();
      resolve(received.toString());
    }
    function onError(error: unknown): void {
      stop();
      reject(error);
    }
    const onAbort = (): void => onError(signal.reason);
    function stop(): void {
      stdin.off("data", onData).off("end", onEnd).off("error", onError).pause();
      signal.removeEventListener("abort", onAbort);
    }

    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", onAbort);
    stdin.on("data", onData).on("end", onEnd).on("error", onError).resume();
    if ((stdin as Readable).readableEnded) onEnd();
  });
}
