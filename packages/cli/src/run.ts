import { HeadgateError } from "@headgate/core";
import { Command, CommanderError } from "commander";
import { addBlock, addForget, addReset, addUnblock } from "./actions/act-on-subject.ts";
import { addBreaker } from "./actions/breaker.ts";
import { addDenyList } from "./actions/deny-list.ts";
import { addExplain } from "./actions/explain.ts";
import { addInspect } from "./actions/inspect.ts";
import { addSet, addUnset } from "./actions/override.ts";
import { addBlocks } from "./blocks/blocks.ts";
import type { AddCommand, Cli, CommandContext } from "./command/cli.ts";
import { CommandError, EXIT } from "./command/command-error.ts";
import { explainError, isRedisError } from "./connect/explain-error.ts";
import { addDashboard } from "./dashboard/add-dashboard.ts";
import { addDoctor } from "./doctor/add-doctor.ts";
import { addBreakers } from "./list/breakers.ts";
import { addLimiters } from "./list/limiters.ts";
import { addLog } from "./list/log.ts";
import { escapeHidden } from "./output/terminal-text.ts";
import { addRecommend } from "./recommend/add-recommend.ts";
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

/** Codes that say that the store was asked, and did not do it. */
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
  1   denied, or something was found
  2   the command line, a file or an answer is wrong
  3   Redis does not answer, or refuses

headgate COMMAND --help has more, with examples.`;

/** The whole program; resolves with its exit code. Rejects only for internal errors. */
export async function run(args: readonly string[], context: CommandContext): Promise<number> {
  let exitCode = 0;
  const { stdout, stderr, signal } = context;
  const program = new Command("headgate")
    .description("Looks at rate limiters in Redis, acts on them, and helps to choose a limit.")
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .showHelpAfterError(false)
    .exitOverride()
    .addHelpText("after", AFTER_HELP)
    .configureHelp({ subcommandTerm: (command) => `${command.name()} ${command.usage()}` })
    // Errors in a command line are reported below, like all others.
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
  // A package manager may hand on the `--` that was meant for itself.
  const commandLine = args[0] === "--" ? args.slice(1) : args;
  if (commandLine.length === 0) {
    stderr.write(program.helpInformation());
    return EXIT.misuse;
  }
  try {
    await program.parseAsync(commandLine, { from: "user" });
    return exitCode;
  } catch (error) {
    // What an interruption breaks off fails in its own way.
    const helpCommand = helpCommandFor(program, commandLine);
    const failure = failureOf(signal.aborted ? signal.reason : error, helpCommand);
    if (failure === undefined) return 0;
    // A server's words are in some of them.
    stderr.write(`headgate: ${escapeHidden(failure.message)}\n`);
    return failure.exitCode;
  }
}

/** What to type for the help of the command that was meant. */
function helpCommandFor({ commands }: Command, [name]: readonly string[]): string {
  const isCommand = commands.some((command) => command.name() === name);
  return isCommand ? `headgate ${name} --help` : "headgate --help";
}

/** What is unknown may be a secret, such as `--pasword=...` or a URL: only a word, and the name of an option, are repeated. */
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

/** Undefined where help or the version was asked for. Throws what is no failure of the user's. */
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
