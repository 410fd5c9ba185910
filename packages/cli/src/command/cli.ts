import type { Command } from "commander";

/** The environment and the streams of a command. */
export interface CommandContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream;
  /** Receives the result only. */
  readonly stdout: NodeJS.WritableStream;
  /** Receives everything else: warnings, progress, prompts, errors. */
  readonly stderr: NodeJS.WritableStream;
  /** Ends the command early, after a cleanup. If the reason is a `CommandError`, it is reported. */
  readonly signal: AbortSignal;
}

/** The argument of every command. */
export interface Cli {
  readonly program: Command;
  readonly context: CommandContext;
  /** Wraps the handler of a command, which resolves with the exit code, or rejects with a `CommandError` or a `HeadgateError`. */
  handle<Args extends unknown[]>(
    handler: (...args: Args) => Promise<number>,
  ): (...args: Args) => Promise<void>;
}

/** Adds a command to the program. */
export type AddCommand = (cli: Cli) => void;

/** Adds examples to the help of a command: command lines with their effects. */
export function addExamples(command: Command, examples: Readonly<Record<string, string>>): Command {
  const lines = Object.entries(examples).map(
    ([commandLine, effect]) => `  ${commandLine}\n      ${effect}`,
  );
  return command.addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
}
