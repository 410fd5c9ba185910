import type { Framework } from "@headgate/replay";
import { replay } from "@headgate/replay";
import type { Cli, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import { CommandError } from "../command/command-error.ts";
import type { ConnectionOptions } from "../connect/connection.ts";
import { addConnectionOptions } from "../connect/connection.ts";
import { readPolicies } from "./read-options.ts";
import { openReplayRedis } from "./replay-redis.ts";
import { formatEvictions, formatResult } from "./replay-tables.ts";
import type { ReportOptions } from "./run-on-logs.ts";
import { runOnLogs } from "./run-on-logs.ts";

interface Options extends ConnectionOptions, ReportOptions {
  readonly limits: readonly string[];
  readonly http?: string;
}

/** Adds `headgate replay`. */
export function addReplay(cli: Cli): void {
  const command = cli.program
    .command("replay")
    .summary("replay access logs, and show which clients limits would have denied")
    .description(
      "Replays access logs at their own times, and shows which clients limits would have denied.",
    )
    .argument(
      "<logs...>",
      "logs in the common or combined format, or in JSON lines; - is standard input",
    )
    .option(
      "--limits <json>",
      "limits as JSON, or @FILE; NAME=... names them; may be repeated to compare limits (default: 30 per minute, 100 per hour)",
      (text: string, before: readonly string[]) => [...before, text],
      [],
    )
    .option(
      "--fields <names>",
      "the fields of JSON lines: time=FIELD,client=FIELD[,method=FIELD,path=FIELD,agent=FIELD]",
    )
    .option(
      "--http <framework>",
      "decide behind a real HTTP server, fastify or express, which takes longer",
    )
    .option("--html <file>", "write a report as one HTML file")
    .option("--json", "print one JSON document");
  addConnectionOptions(
    command,
    "count in this Redis, and delete the keys at the end (default: count in this process)",
  );
  addExamples(command, {
    "headgate replay access.log": "with the default limits of 30 per minute and 100 per hour",
    "headgate replay access.log --limits old=old.json --limits new=new.json --html report.html":
      "compare two policies in a report",
    "zcat access.log.*.gz | headgate replay -": "read the output of another program",
  });
  command.action(
    cli.handle((logs: string[], options: Options) => runReplay(logs, options, cli.context)),
  );
}

async function runReplay(
  logs: readonly string[],
  options: Options,
  context: CommandContext,
): Promise<number> {
  const policies = await readPolicies(options.limits);
  const connection = redisOf(options);
  return runOnLogs(logs, options, context, {
    async run(reading) {
      const redis = connection && (await openReplayRedis(connection, context));
      try {
        return await replay(reading.log, policies, {
          ...reading.options,
          framework: options.http as Framework | undefined,
          createStore: redis?.createStore,
          storeTimeout: redis?.timeoutMs,
        });
      } finally {
        // The deletion of the keys may write a warning.
        reading.stop();
        await redis?.close();
      }
    },
    warn: (result) => result.policies.filter(({ evicted }) => evicted > 0).map(formatEvictions),
    format: formatResult,
  });
}

/** `$REDIS_URL` alone does not select Redis, because it may be set for other commands. */
function redisOf(options: Options): ConnectionOptions | undefined {
  if (options.redis !== undefined || options.redisFile !== undefined) return options;
  const { user, passwordStdin, cacert, cert, key, cluster, sentinel } = options;
  const needing = user ?? passwordStdin ?? cacert ?? cert ?? key ?? cluster ?? sentinel;
  if (needing === undefined) return undefined;
  throw new CommandError(
    "a replay counts in Redis only with --redis or --redis-file: add one of them to the other connection options",
  );
}
