import { setFlagsFromString } from "node:v8";
import type { Cli } from "../command/add-command.ts";
import type { Surroundings } from "../command/surroundings.ts";
import { parseFields } from "../log/fields.ts";
import { bytesOf, readRequests } from "../log/read-requests.ts";
import { writeJson } from "../output/json.ts";
import { styleFor, widthOf } from "../output/style.ts";
import { visible } from "../output/visible.ts";
import { requireWritable, writeReport } from "../report/write-report.ts";
import { runInLibrary } from "./library-run.ts";
import type { NamedPolicy } from "./policies.ts";
import { readPolicies } from "./policies.ts";
import type { PolicyRun } from "./policy-run.ts";
import { replay } from "./replay.ts";
import { inMemory } from "./replay-stores.ts";
import { formatResult, saysEvicted } from "./replay-tables.ts";
import type { ReplayedLog, ReplayResult } from "./result.ts";
import { showProgress } from "./show-progress.ts";

interface Options {
  readonly limits: readonly string[];
  readonly fields?: string;
  readonly html?: string;
  readonly json?: true;
}

/** So many characters are shown of a malformed line. */
const SHOWN_OF_LINE = 100;

/** Adds `headgate replay`. */
export function addReplay(cli: Cli): void {
  cli.program
    .command("replay")
    .description("Shows whom limits would have denied, by replaying access logs in their own time.")
    .argument("<logs...>", "in the common or combined format, or JSON lines; - is standard input")
    .option(
      "--limits <json>",
      "limits, as JSON or a file that holds it; NAME=... gives them a name; several times: side by side (default: 30 per minute, 100 per hour)",
      (text: string, before: readonly string[]) => [...before, text],
      [],
    )
    .option("--fields <names>", "of JSON lines: time=FIELD,client=FIELD[,method=FIELD,path=FIELD]")
    .option("--html <file>", "write a report, one HTML file")
    .option("--json", "print one JSON document")
    .action(
      cli.handle((logs: string[], options: Options) => runReplay(logs, options, cli.surroundings)),
    );
}

async function runReplay(
  logs: readonly string[],
  options: Options,
  surroundings: Surroundings,
): Promise<number> {
  const { stdout, stderr, environment } = surroundings;
  const warn = (message: string): void => {
    stderr.write(`headgate: ${message}\n`);
  };
  const policies = await readPolicies(options.limits);
  if (options.html !== undefined) await requireWritable(options.html);
  const result = await replayLogs(logs, policies, options, surroundings);
  warnOfLog(result.log, warn);
  for (const policy of result.policies) if (policy.evicted > 0) warn(saysEvicted(policy));
  if (options.html !== undefined) await writeReport(options.html, result, stderr);
  if (options.json) writeJson(stdout, result);
  else stdout.write(formatResult(result, styleFor(stdout, environment), widthOf(stdout)));
  return 0;
}

async function replayLogs(
  logs: readonly string[],
  policies: readonly NamedPolicy[],
  options: Options,
  { stdin, stderr, signal }: Surroundings,
): Promise<ReplayResult> {
  // Most of what is read is garbage soon: by itself the heap would grow to several times what is alive.
  setFlagsFromString("--heap-growing-percent=100");
  const fields = options.fields === undefined ? undefined : parseFields(options.fields);
  const total = await bytesOf(logs);
  let now = 0;
  const progress = showProgress(stderr, total);
  const onBytes = progress.step;
  const requests = readRequests(logs, { stdin, signal, fields, onBytes, requestLines: false });
  const stores = inMemory(policies.length, () => now);
  const runs: PolicyRun[] = [];
  try {
    for (const [i, store] of stores.entries()) {
      runs.push(runInLibrary(policies[i] as NamedPolicy, store));
    }
    const onTime = (time: number): void => {
      now = time;
    };
    return await replay(requests, { files: logs, policies, runs, onTime, signal });
  } finally {
    progress.stop();
    await Promise.all(runs.map((run) => run.close()));
  }
}

function warnOfLog({ malformed, examples }: ReplayedLog, warn: (message: string) => void): void {
  for (const { file, number, text, reason } of examples) {
    const begins = text.length > SHOWN_OF_LINE ? `${text.slice(0, SHOWN_OF_LINE)}...` : text;
    warn(`${visible(file)}: line ${number} is malformed, ${reason}: ${visible(begins)}`);
  }
  const others = malformed - examples.length;
  if (others > 0) warn(`and ${others} more malformed lines`);
}
