import { fileURLToPath } from "node:url";
import { Command, Option } from "commander";
import { Failure } from "./failure.ts";
import type { ReplayLimit } from "./limits.ts";
import { DEFAULT_LIMITS, parseLimits } from "./limits.ts";
import { describeRedis } from "./replay-redis.ts";

const FRAMEWORKS = ["fastify", "express"] as const;

export type Framework = (typeof FRAMEWORKS)[number];

/** What a run was asked to do. */
export interface Settings {
  /** The path of the log. */
  readonly log: string;
  readonly limits: readonly ReplayLimit[];
  readonly framework: Framework;
  /** Undefined: count in this process. */
  readonly redisUrl: string | undefined;
  readonly json: boolean;
}

/** The log made for this program by `scripts/make-sample-log.mjs`. */
export const SAMPLE_LOG: string = fileURLToPath(new URL("../sample.log", import.meta.url));

interface Options {
  readonly log: string;
  readonly limits?: string;
  readonly framework: string;
  readonly redis?: string;
  readonly json?: true;
}

/**
 * Reads the command line and `REDIS_URL`. Undefined when help was asked for, and given to `print`. Throws a `Failure`,
 * with exit code 2 for a command line that is wrong in itself.
 */
export function readSettings(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  print: (text: string) => void,
): Settings | undefined {
  const options = parseOptions(args, print);
  if (options === undefined) return undefined;
  const framework = FRAMEWORKS.find((name) => name === options.framework);
  if (framework === undefined) {
    throw new Failure(
      `--framework must be ${FRAMEWORKS.join(" or ")}, got ${JSON.stringify(options.framework)}`,
    );
  }
  const redisUrl = (options.redis ?? environment["REDIS_URL"]) || undefined;
  if (redisUrl !== undefined) describeRedis(redisUrl);
  return {
    log: options.log,
    limits: options.limits === undefined ? DEFAULT_LIMITS : parseLimits(options.limits),
    framework,
    redisUrl,
    json: options.json === true,
  };
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
