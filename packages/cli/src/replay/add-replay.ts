import type { Framework, ReplayResult } from "@headgate/replay";
import { renderReport, replay } from "@headgate/replay";
import type { Cli, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import { CommandError } from "../command/command-error.ts";
import type { ConnectionOptions } from "../connect/connection.ts";
import { addConnectionOptions } from "../connect/connection.ts";
import { writeJson } from "../output/json.ts";
import { styleFor, widthOf } from "../output/style.ts";
import { openLogs, reportSkipped } from "./read-logs.ts";
import { explainReplayError, readPolicies } from "./read-options.ts";
import { openReplayRedis } from "./replay-redis.ts";
import { formatEvictions, formatResult } from "./replay-tables.ts";
import { requireWritable, writeReport } from "./report-file.ts";

interface Options extends ConnectionOptions {
  readonly limits: readonly string[];
  readonly fields?: string;
  readonly html?: string;
  readonly http?: string;
  readonly json?: true;
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
      "the fields of JSON lines: time=FIELD,client=FIELD[,method=FIELD,path=FIELD]",
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
  const { stdout, stderr, environment } = context;
  const policies = await readPolicies(options.limits);
  const connection = redisOf(options);
  if (options.html !== undefined) await requireWritable(options.html);
  const reading = await openLogs(logs, options.fields, context);
  const redis = connection && (await openReplayRedis(connection, context));
  let result: ReplayResult;
  try {
    result = await replay(reading.log, policies, {
      ...reading.options,
      framework: options.http as Framework | undefined,
      createStore: redis?.createStore,
      storeTimeout: redis?.timeoutMs,
    });
  } catch (error) {
    throw explainReplayError(error);
  } finally {
    reading.stop();
    await redis?.close();
  }
  reportSkipped(result.log, stderr);
  for (const policy of result.policies) {
    if (policy.evicted > 0) stderr.write(`headgate: ${formatEvictions(policy)}\n`);
  }
  if (options.html !== undefined) await writeReport(options.html, renderReport(result), context);
  if (options.json) writeJson(stdout, result);
  else stdout.write(formatResult(result, styleFor(stdout, environment), widthOf(stdout)));
  return 0;
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
