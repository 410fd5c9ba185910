import { fileURLToPath } from "node:url";
import type { Framework, ReplayLimit } from "@headgate/replay";
import { DEFAULT_LIMITS, FRAMEWORKS, readLimits } from "@headgate/replay";
import { Command, Option } from "commander";
import { Failure } from "./failure.ts";

/** The settings of a run. */
export interface Settings {
  /** The path of the log. */
  readonly log: string;
  readonly limits: readonly ReplayLimit[];
  readonly framework: Framework;
  /** Undefined: count in this process. */
  readonly redisUrl: string | undefined;
  readonly json: boolean;
  /** Where the report for a browser is written; undefined: nowhere. */
  readonly html: string | undefined;
}

/** The log made for this program by `scripts/make-sample-log.mjs`. */
export const SAMPLE_LOG: string = fileURLToPath(new URL("../sample.log", import.meta.url));

/** In the working directory. */
const HTML = "headgate-report.html";

interface Options {
  readonly log: string;
  readonly limits?: string;
  readonly framework: string;
  readonly redis?: string;
  readonly json?: true;
  readonly html?: string;
}

/**
 * Reads the command line and `REDIS_URL`. Undefined when help was asked for, and given to `print`. Throws a `Failure`
 * of the replay for what an option says, and one of its own, with exit code 2, for a command line that is wrong in itself.
 */
export function readSettings(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  print: (text: string) => void,
): Settings | undefined {
  const options = parseOptions(args, print);
  if (options === undefined) return undefined;
  const isJson = options.json === true;
  return {
    log: options.log,
    limits: options.limits === undefined ? DEFAULT_LIMITS : parseLimits(options.limits),
    framework: parseFramework(options.framework),
    redisUrl: (options.redis ?? environment["REDIS_URL"]) || undefined,
    json: isJson,
    html: options.html ?? (isJson ? undefined : HTML),
  };
}

function parseLimits(json: string): readonly ReplayLimit[] {
  try {
    return readLimits(JSON.parse(json));
  } catch (error) {
    const rule = error instanceof SyntaxError ? " must be JSON" : "";
    throw new Failure(`--limits${rule}: ${(error as Error).message}`, 1, { cause: error });
  }
}

function parseFramework(name: string): Framework {
  const framework = FRAMEWORKS.find((one) => one === name);
  if (framework !== undefined) return framework;
  throw new Failure(`--framework must be ${FRAMEWORKS.join(" or ")}, got ${JSON.stringify(name)}`);
}

function parseOptions(args: readonly string[], print: (text: string) => void): Options | undefined {
  let complaint = "";
  const command = new Command("start")
    .description(
      "Sends every request of an access log to an application behind Headgate, on the log's own clock, and reports who was denied.",
    )
    .addOption(
      new Option("--log <file>", "an access log in the common or combined format").default(
        SAMPLE_LOG,
        "a sample made for it",
      ),
    )
    .option(
      "--limits <json>",
      "a limit or a list of limits, as JSON (default: 30 per minute, 100 per hour)",
    )
    .option("--framework <name>", FRAMEWORKS.join(" or "), "fastify")
    .option("--redis <url>", "count in Redis (default: $REDIS_URL, else in memory)")
    .option("--json", "one JSON object on the last line of stdout")
    .option(
      "--html <file>",
      `where the report for a browser is written (default: ${HTML}; with --json, nowhere)`,
    )
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({
      writeOut: print,
      writeErr: (text) => {
        complaint += text;
      },
    });
  try {
    // A package manager may hand on the `--` that was meant for itself.
    return command
      .parse(
        args.filter((arg) => arg !== "--"),
        { from: "user" },
      )
      .opts<Options>();
  } catch (error) {
    if (complaint === "") return undefined;
    throw new Failure(complaint.trim().replace(/^error: /, ""), 2, { cause: error });
  }
}
