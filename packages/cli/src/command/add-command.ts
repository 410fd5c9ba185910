import type { Command } from "commander";
import type { Surroundings } from "./surroundings.ts";

/** What every command is given. */
export interface Cli {
  readonly program: Command;
  readonly surroundings: Surroundings;
  /** Makes a handler of a command: it resolves with the exit code, and rejects with a `Failure`, or a `HeadgateError`. */
  handle<Args extends unknown[]>(
    handler: (...args: Args) => Promise<number>,
  ): (...args: Args) => Promise<void>;
}

/** Adds a command to the program. */
export type AddCommand = (cli: Cli) => void;
