import type { Algorithm, Target } from "@headgate/replay";
import { recommend } from "@headgate/replay";
import type { Cli, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import { formatRecommendation } from "./recommendation-tables.ts";
import type { ReportOptions } from "./run-on-logs.ts";
import { runOnLogs } from "./run-on-logs.ts";

interface Options extends ReportOptions {
  readonly denyAtMost?: string;
  readonly of: string;
  readonly window?: readonly string[];
  readonly algorithm: string;
}

/** Adds `headgate recommend`. */
export function addRecommend(cli: Cli): void {
  const command = cli.program
    .command("recommend")
    .summary("recommend a limit for access logs")
    .description("Recommends a limit that meets a target, and proves it by replaying access logs.")
    .argument(
      "<logs...>",
      "logs in the common or combined format, or in JSON lines; - is standard input",
    )
    .option(
      "--deny-at-most <share>",
      "the target: the largest share that may be denied (default: 0.1%, or 1% if 0.1% of the log is nobody)",
    )
    .option("--of <what>", "the unit of the share: clients or requests", "clients")
    .option(
      "--window <duration>",
      "a window to consider, such as 1m; may be repeated (default: 1s, 10s, 1m, 10m, 1h, 1d)",
      (text: string, before: readonly string[] = []) => [...before, text],
    )
    .option(
      "--algorithm <name>",
      "gcra, tokenBucket, fixedWindow, slidingWindow or slidingLog",
      "gcra",
    )
    .option(
      "--fields <names>",
      "the fields of JSON lines: time=FIELD,client=FIELD[,path=FIELD,agent=FIELD]",
    )
    .option("--html <file>", "write a report as one HTML file")
    .option("--json", "print one JSON document");
  addExamples(command, {
    "headgate recommend access.log": "a limit that denies at most 0.1% of clients",
    "headgate recommend access.log* --of requests --deny-at-most 1% --window 1m --html report.html":
      "a limit per minute that denies at most 1% of requests, with a report",
  });
  command.action(
    cli.handle((logs: string[], options: Options) => runRecommend(logs, options, cli.context)),
  );
}

async function runRecommend(
  logs: readonly string[],
  options: Options,
  context: CommandContext,
): Promise<number> {
  const target = { denyAtMost: options.denyAtMost, of: options.of as Target["of"] };
  return runOnLogs(logs, options, context, {
    run: (reading) =>
      recommend(reading.log, target, {
        ...reading.options,
        windows: options.window,
        algorithm: options.algorithm as Algorithm,
        onWindow: reading.onWindow,
      }),
    format: formatRecommendation,
  });
}
