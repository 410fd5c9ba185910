import type { Command } from "commander";

/** The environment and the streams of a command. */
export interface CommandContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream;
  /** For the result only. */
  readonly stdout: NodeJS.WritableStream;
  /** For everything else: warnings, progress, questions, errors. */
  readonly stderr: NodeJS.WritableStream;
  /** Ends the command early, leaving nothing behind; a reason that is a `CommandError` is reported. */
  readonly signal: AbortSignal;
}

/** The argument of every command. */
export interface Cli {
  readonly program: Command;
  readonly context: CommandContext;
  /** Makes a handler of a command: it resolves with the exit code, and rejects with a `CommandError`, or a `HeadgateError`. */
  handle<Args extends unknown[]>(
    handler: (...args: Args) => Promise<number>,
  ): (...args: Args) => Promise<void>;
}

/** Adds a command to the program. */
export type AddCommand = (cli: Cli) => void;

/** Adds examples to the help of a command, each with its effect. */
export function addExamples(command: Command, examples: Readonly<Record<string, string>>): Command {
  const lines = Object.entries(examples).map(([typed, does]) => `  ${typed}\n      ${does}`);
  return command.addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
}
