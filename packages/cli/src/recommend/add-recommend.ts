import type { Cli, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import { parseFields } from "../log/fields.ts";
import type { LogCounts } from "../log/read-requests.ts";
import { readRequests, totalBytesOf } from "../log/read-requests.ts";
import { describeSkipped, noRequestsError } from "../log/skipped-lines.ts";
import { writeJson } from "../output/json.ts";
import { styleFor, widthOf } from "../output/style.ts";
import { showProgress } from "../replay/show-progress.ts";
import { describePolicies } from "../report/describe-policies.ts";
import { formatWritten, requireWritable, writeRecommendation } from "../report/write-report.ts";
import { parseAlgorithm } from "./algorithms.ts";
import { formatRecommendation } from "./format-recommendation.ts";
import { recommend } from "./recommend.ts";
import { Recording } from "./recording.ts";
import { replayRecording } from "./replay-recording.ts";
import { parseTarget } from "./target.ts";
import { parseWindows } from "./windows.ts";

interface Options {
  readonly denyAtMost: string;
  readonly of: string;
  readonly window?: readonly string[];
  readonly algorithm: string;
  readonly fields?: string;
  readonly html?: string;
  readonly json?: true;
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
    .option("--deny-at-most <share>", "the target: the largest share that may be denied", "0.1%")
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
    .option("--fields <names>", "the fields of JSON lines: time=FIELD,client=FIELD")
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
  const { stdout, stderr, environment, signal } = context;
  const target = parseTarget(options.denyAtMost, options.of);
  const windows = parseWindows(options.window);
  const algorithm = parseAlgorithm(options.algorithm);
  if (options.html !== undefined) await requireWritable(options.html);
  const { recording, counts } = await record(logs, options, context);
  if (recording.length === 0) throw noRequestsError(logs, counts);
  for (const message of describeSkipped(counts)) stderr.write(`headgate: ${message}\n`);
  const progress = showProgress(stderr, windows.length);
  const { recommendation, result } = await recommend(recording, {
    ...{ algorithm, windows, target, signal },
    onWindow: () => progress.step(1),
    replay: (window, units) =>
      replayRecording(recording, { files: logs, counts, algorithm, window, units, signal }),
  }).finally(() => progress.stop());
  if (options.html !== undefined) {
    await writeRecommendation(options.html, result, recommendation);
    stderr.write(formatWritten(options.html));
  }
  if (options.json) writeJson(stdout, { ...recommendation, replay: describePolicies(result) });
  else {
    const style = styleFor(stdout, environment);
    stdout.write(formatRecommendation(recommendation, style, widthOf(stdout)));
  }
  return 0;
}

async function record(
  logs: readonly string[],
  options: Options,
  { stdin, stderr, signal }: CommandContext,
): Promise<{ readonly recording: Recording; readonly counts: LogCounts }> {
  const fields = options.fields === undefined ? undefined : parseFields(options.fields);
  const progress = showProgress(stderr, await totalBytesOf(logs));
  const requests = readRequests(logs, {
    ...{ stdin, signal, fields },
    onBytes: progress.step,
    requestLines: false,
  });
  const recording = new Recording();
  try {
    for await (const some of requests) recording.add(some);
  } finally {
    progress.stop();
  }
  return { recording, counts: requests.counts() };
}
