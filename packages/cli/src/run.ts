import { HeadgateError } from "@headgate/core";
import { Command, CommanderError } from "commander";
import type { AddCommand, Cli } from "./command/add-command.ts";
import { EXIT, Failure } from "./command/failure.ts";
import type { Surroundings } from "./command/surroundings.ts";
import { addTop } from "./top/add-top.ts";

/** The commands, in the order of the help. */
const COMMANDS: readonly AddCommand[] = [addTop];

/** Codes that say that the store was asked, and did not do it. */
const OF_STORE: readonly string[] = [
  "HEADGATE_STORE_UNAVAILABLE",
  "HEADGATE_STORE_MISCONFIGURED",
  "HEADGATE_WRONG_TYPE",
  "HEADGATE_CONTROL_DAMAGED",
];

/** The whole program; resolves with its exit code. Rejects only for a mistake of its own. */
export async function run(args: readonly string[], surroundings: Surroundings): Promise<number> {
  let exitCode = 0;
  const { stdout, stderr } = surroundings;
  const program = new Command("headgate")
    .description("Looks at rate limiters in Redis, acts on them, and helps to choose a limit.")
    .helpCommand(false)
    .showHelpAfterError(false)
    .exitOverride()
    // What is wrong with a command line is said below, as every failure is.
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: () => {} });
  const cli: Cli = {
    program,
    surroundings,
    handle:
      (handler) =>
      async (...handled) => {
        exitCode = await handler(...handled);
      },
  };
  for (const add of COMMANDS) add(cli);
  try {
    // A package manager may hand on the `--` that was meant for itself.
    await program.parseAsync(args[0] === "--" ? args.slice(1) : args, { from: "user" });
    return exitCode;
  } catch (error) {
    const failure = failureOf(error);
    if (failure === undefined) return 0;
    stderr.write(`headgate: ${failure.message}\n`);
    return failure.exitCode;
  }
}

/** Undefined where help or the version was asked for. Throws what is no failure of the user's. */
function failureOf(error: unknown): Failure | undefined {
  if (error instanceof Failure) return error;
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return undefined;
    return new Failure(`${error.message.replace(/^error: /, "")}; see headgate --help`);
  }
  if (error instanceof HeadgateError) {
    const exitCode = OF_STORE.includes(error.code) ? EXIT.store : EXIT.misuse;
    return new Failure(`${error.message} (${error.code})`, exitCode, { cause: error });
  }
  throw error;
}
