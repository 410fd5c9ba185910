import { HeadgateError } from "@headgate/core";
import { escapeHidden } from "@headgate/replay/internal";
import { Command, CommanderError } from "commander";
import { addBlock, addForget, addReset, addUnblock } from "./actions/act-on-subject.ts";
import { addBreaker } from "./actions/breaker.ts";
import { addDenyList } from "./actions/deny-list.ts";
import { addExplain } from "./actions/explain.ts";
import { addInspect } from "./actions/inspect.ts";
import { addSet, addUnset } from "./actions/override.ts";
import type { AddCommand, Cli, CommandContext } from "./command/cli.ts";
import { CommandError, EXIT } from "./command/command-error.ts";
import { explainError, isRedisError } from "./connect/explain-error.ts";
import { addDashboard } from "./dashboard/add-dashboard.ts";
import { addDoctor } from "./doctor/add-doctor.ts";
import { addBlocks } from "./list/blocks.ts";
import { addBreakers } from "./list/breakers.ts";
import { addLimiters } from "./list/limiters.ts";
import { addLog } from "./list/log.ts";
import { addRecommend } from "./replay/add-recommend.ts";
import { addReplay } from "./replay/add-replay.ts";
import { addTop } from "./top/add-top.ts";
import { VERSION } from "./version.generated.ts";

/** The commands, in the order of the help. */
const COMMANDS: readonly AddCommand[] = [
  addLimiters,
  addTop,
  addBlocks,
  addInspect,
  addExplain,
  addReset,
  addBlock,
  addUnblock,
  addForget,
  addSet,
  addUnset,
  addDenyList,
  addBreakers,
  addBreaker,
  addLog,
  addDashboard,
  addDoctor,
  addReplay,
  addRecommend,
];

/** Error codes with which the store fails; the exit code is 3. */
const STORE_ERROR_CODES: readonly string[] = [
  "HEADGATE_STORE_UNAVAILABLE",
  "HEADGATE_STORE_MISCONFIGURED",
  "HEADGATE_HASH_SLOT_UNAVAILABLE",
  "HEADGATE_BAD_REPLY",
  "HEADGATE_WRONG_TYPE",
  "HEADGATE_CONTROL_CORRUPT",
];

const AFTER_HELP = `
Exit codes:
  0   done
  1   denied, or a problem was found
  2   the command line, a file or an answer is invalid
  3   Redis does not answer, or refuses a command

headgate COMMAND --help describes a command, with examples.`;

/** The whole program; resolves with its exit code. Rejects only for internal errors. */
export async function run(args: readonly string[], context: CommandContext): Promise<number> {
  let exitCode = 0;
  const { stdout, stderr, signal } = context;
  const program = new Command("headgate")
    .description("Inspects and manages rate limiters in Redis, and helps to choose a limit.")
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .showHelpAfterError(false)
    .exitOverride()
    .addHelpText("after", AFTER_HELP)
    .configureHelp({ subcommandTerm: (command) => `${command.name()} ${command.usage()}` })
    // Errors in the command line are reported below, like all others.
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: () => {} });
  const cli: Cli = {
    program,
    context,
    handle:
      (handler) =>
      async (...handled) => {
        exitCode = await handler(...handled);
      },
  };
  for (const add of COMMANDS) add(cli);
  // Some package managers pass on their own `--`.
  const commandLine = args[0] === "--" ? args.slice(1) : args;
  if (commandLine.length === 0) {
    stderr.write(program.helpInformation());
    return EXIT.misuse;
  }
  try {
    await program.parseAsync(commandLine, { from: "user" });
    return exitCode;
  } catch (error) {
    // After an interruption, the error is only a consequence of it.
    const helpCommand = helpCommandFor(program, commandLine);
    const failure = failureOf(signal.aborted ? signal.reason : error, helpCommand);
    if (failure === undefined) return 0;
    // Some messages contain a server's reply.
    stderr.write(`headgate: ${escapeHidden(failure.message)}\n`);
    return failure.exitCode;
  }
}

/** The command line that prints the help of the given command. */
function helpCommandFor({ commands }: Command, [name]: readonly string[]): string {
  const isCommand = commands.some((command) => command.name() === name);
  return isCommand ? `headgate ${name} --help` : "headgate --help";
}

/** An unknown argument may be a secret, such as `--pasword=...` or a URL, so only plain words and option names are repeated. */
function messageWithoutValue({ code, message }: CommanderError): string {
  const [, suggestion = ""] = /\n(\(Did you mean [^\n]*\))$/.exec(message) ?? [];
  const match = /^error: unknown (option|command) '([\s\S]*)'/.exec(message);
  if (!["commander.unknownOption", "commander.unknownCommand"].includes(code) || match === null) {
    return message;
  }
  const [, kind = "", given = ""] = match;
  const name = kind === "option" ? /^(?:--[\w-]{1,40}|-\w)/.exec(given)?.[0] : plainWordOf(given);
  return `unknown ${kind}${name === undefined ? "" : ` '${name}'`} ${suggestion}`.trim();
}

function plainWordOf(given: string): string | undefined {
  return /^[a-z-]{1,40}$/i.test(given) ? given : undefined;
}

/** The error to report; undefined if help or the version was printed. Throws internal errors. */
function failureOf(error: unknown, helpCommand: string): CommandError | undefined {
  if (error instanceof CommandError) return error;
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return undefined;
    const message = messageWithoutValue(error)
      .replace(/^error: /, "")
      .replace(/\s+/g, " ")
      .replace(/\.$/, "");
    return new CommandError(`${message}; see ${helpCommand}`);
  }
  if (error instanceof HeadgateError) {
    const isStoreError = STORE_ERROR_CODES.includes(error.code);
    const cause = isStoreError && error.cause !== undefined ? `: ${explainError(error.cause)}` : "";
    const exitCode = isStoreError ? EXIT.store : EXIT.misuse;
    return new CommandError(`${error.message}${cause} (${error.code})`, exitCode, { cause: error });
  }
  if (isRedisError(error)) {
    return new CommandError(`Redis: ${explainError(error)}`, EXIT.store, { cause: error });
  }
  throw error;
}
