import type { Readable, Writable } from "node:stream";
import { isCancel, password } from "@clack/prompts";
import type { CommandContext } from "../command/cli.ts";
import { CommandError } from "../command/command-error.ts";
import { isTerminal } from "../output/style.ts";

/**
 * Reads a secret: the next line of standard input, or input at a terminal without echo. The rest of standard input stays
 * unread. Rejects with a `CommandError` if the line is empty.
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
    // Hides the length too.
    mask: "",
    withGuide: false,
    input: stdin as Readable,
    output: stderr as Writable,
    signal,
  });
  // In a prompt, the terminal reports Ctrl-C as a key.
  if (isCancel(typed)) throw new CommandError("interrupted", 130);
  return typed;
}

/** The first line without its line break, or everything if there is no line break. */
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
