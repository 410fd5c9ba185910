import type { Readable, Writable } from "node:stream";
import { confirm as ask, isCancel } from "@clack/prompts";
import { Failure } from "../command/failure.ts";
import type { Surroundings } from "../command/surroundings.ts";
import { isTerminal } from "../output/style.ts";
import { visible } from "../output/visible.ts";

/** Asks before more than one subject or limiter is acted on. Rejects with a `Failure` unless the answer is yes. */
export async function confirm(
  what: string,
  isSure: boolean | undefined,
  { stdin, stderr, signal }: Surroundings,
): Promise<void> {
  if (isSure === true) return;
  if (!isTerminal(stdin)) {
    throw new Failure(`this would ${what}: say --yes, or look at it with --dry-run`);
  }
  const answer = await ask({
    message: `This will ${visible(what)}. Go on?`,
    initialValue: false,
    withGuide: false,
    input: stdin as Readable,
    output: stderr as Writable,
    signal,
  });
  if (isCancel(answer) || !answer) throw new Failure("nothing was done", 130);
}
