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
import { explainError, isOfClient } from "./connect/explain-error.ts";
import { addDashboard } from "./dashboard/add-dashboard.ts";
import { addDoctor } from "./doctor/add-doctor.ts";
import { addBreakers } from "./list/breakers.ts";
import { addLimiters } from "./list/limiters.ts";
import { addLog } from "./list/log.ts";
import { visible } from "./output/visible.ts";
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
const OF_STORE: readonly string[] = [
  "HEADGATE_STORE_UNAVAILABLE",
  "HEADGATE_STORE_MISCONFIGURED",
  "HEADGATE_SLOT_UNAVAILABLE",
  "HEADGATE_BAD_REPLY",
  "HEADGATE_WRONG_TYPE",
  "HEADGATE_CONTROL_DAMAGED",
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
  const given = args[0] === "--" ? args.slice(1) : args;
  if (given.length === 0) {
    stderr.write(program.helpInformation());
    return EXIT.misuse;
  }
  try {
    await program.parseAsync(given, { from: "user" });
    return exitCode;
  } catch (error) {
    // What an interruption breaks off fails in its own way.
    const helps = helpOf(program, given);
    const failure = failureOf(signal.aborted ? signal.reason : error, helps);
    if (failure === undefined) return 0;
    // A server's words are in some of them.
    stderr.write(`headgate: ${visible(failure.message)}\n`);
    return failure.exitCode;
  }
}

/** What to type for the help of the command that was meant. */
function helpOf({ commands }: Command, [name]: readonly string[]): string {
  const isKnown = commands.some((command) => command.name() === name);
  return isKnown ? `headgate ${name} --help` : "headgate --help";
}

/** What is unknown may be a secret, such as `--pasword=...` or a URL: only a word, and the name of an option, are repeated. */
function withoutValue({ code, message }: CommanderError): string {
  const [, suggestion = ""] = /\n(\(Did you mean [^\n]*\))$/.exec(message) ?? [];
  const named = /^error: unknown (option|command) '([\s\S]*)'/.exec(message);
  if (!["commander.unknownOption", "commander.unknownCommand"].includes(code) || named === null) {
    return message;
  }
  const [, kind = "", given = ""] = named;
  const name = kind === "option" ? /^(?:--[\w-]{1,40}|-\w)/.exec(given)?.[0] : wordOf(given);
  return `unknown ${kind}${name === undefined ? "" : ` '${name}'`} ${suggestion}`.trim();
}

function wordOf(given: string): string | undefined {
  return /^[a-z-]{1,40}$/i.test(given) ? given : undefined;
}

/** Undefined where help or the version was asked for. Throws what is no failure of the user's. */
function failureOf(error: unknown, helps: string): CommandError | undefined {
  if (error instanceof CommandError) return error;
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return undefined;
    const message = withoutValue(error)
      .replace(/^error: /, "")
      .replace(/\s+/g, " ")
      .replace(/\.$/, "");
    return new CommandError(`${message}; see ${helps}`);
  }
  if (error instanceof HeadgateError) {
    const isOfStore = OF_STORE.includes(error.code);
    const cause = isOfStore && error.cause !== undefined ? `: ${explainError(error.cause)}` : "";
    const exitCode = isOfStore ? EXIT.store : EXIT.misuse;
    return new CommandError(`${error.message}${cause} (${error.code})`, exitCode, { cause: error });
  }
  if (isOfClient(error)) {
    return new CommandError(`Redis: ${explainError(error)}`, EXIT.store, { cause: error });
  }
  throw error;
}
