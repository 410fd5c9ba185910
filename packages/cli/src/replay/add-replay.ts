import { setFlagsFromString } from "node:v8";
import type { Cli } from "../command/add-command.ts";
import { Failure } from "../command/failure.ts";
import type { Surroundings } from "../command/surroundings.ts";
import type { ConnectionOptions } from "../connect/connection.ts";
import { addConnectionOptions } from "../connect/connection.ts";
import { parseFields } from "../log/fields.ts";
import { printable } from "../log/printable.ts";
import { bytesOf, readRequests } from "../log/read-requests.ts";
import { parseFramework } from "./http/frameworks.ts";
import type { NamedPolicy } from "./policies.ts";
import { readPolicies } from "./policies.ts";
import { replay } from "./replay.ts";
import { formatResult, saysEvicted } from "./replay-tables.ts";
import type { ReplayedLog, ReplayResult } from "./result.ts";
import { showProgress } from "./show-progress.ts";
import { startRuns } from "./start-runs.ts";

interface Options extends ConnectionOptions {
  readonly limits: readonly string[];
  readonly fields?: string;
  readonly http?: string;
  readonly json?: true;
}

/** Adds `headgate replay`. */
export function addReplay(cli: Cli): void {
  const command = cli.program
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
    .option(
      "--http <framework>",
      "decide behind a real HTTP server, of fastify or express, which takes longer",
    )
    .option("--json", "one JSON document");
  addConnectionOptions(command, "count there, and delete it again (default: in this process)");
  command.action(
    cli.handle((logs: string[], options: Options) => runReplay(logs, options, cli.surroundings)),
  );
}

async function runReplay(
  logs: readonly string[],
  options: Options,
  surroundings: Surroundings,
): Promise<number> {
  const { stdout, stderr } = surroundings;
  const warn = (message: string): void => {
    stderr.write(`headgate: ${message}\n`);
  };
  const policies = await readPolicies(options.limits);
  const result = await replayLogs(logs, policies, options, { ...surroundings, warn });
  warnOfLog(result.log, warn);
  for (const policy of result.policies) if (policy.evicted > 0) warn(saysEvicted(policy));
  stdout.write(options.json ? `${JSON.stringify(result)}\n` : formatResult(result));
  return 0;
}

async function replayLogs(
  logs: readonly string[],
  policies: readonly NamedPolicy[],
  options: Options,
  { warn, ...surroundings }: Surroundings & { readonly warn: (message: string) => void },
): Promise<ReplayResult> {
  const { stdin, stderr, signal } = surroundings;
  // Most of what is read is garbage soon: by itself the heap would grow to several times what is alive.
  setFlagsFromString("--heap-growing-percent=100");
  const fields = options.fields === undefined ? undefined : parseFields(options.fields);
  const total = await bytesOf(logs);
  const http = options.http === undefined ? undefined : parseFramework(options.http, "--http");
  let now = 0;
  const redis = redisOf(options);
  const { runs, close } = await startRuns(policies, {
    ...{ http, redis, clock: () => now, warn, surroundings },
  });
  const progress = showProgress(stderr, total);
  const requests = readRequests(logs, {
    ...{ stdin, signal, fields, onBytes: progress.step },
    // A real server is asked for what was asked for.
    requestLines: http !== undefined,
  });
  const onTime = (time: number): void => {
    now = time;
  };
  try {
    return await replay(requests, { files: logs, policies, runs, onTime, signal });
  } finally {
    progress.stop();
    await close();
  }
}

/** `$REDIS_URL` alone, which may be there for other commands, does not have a replay count in Redis. */
function redisOf(options: Options): ConnectionOptions | undefined {
  if (options.redis !== undefined || options.redisFile !== undefined) return options;
  const { user, passwordStdin, cacert, cert, key, cluster, sentinel } = options;
  const needing = user ?? passwordStdin ?? cacert ?? cert ?? key ?? cluster ?? sentinel;
  if (needing === undefined) return undefined;
  throw new Failure(
    "a replay counts in Redis with --redis or --redis-file: give one of them beside the other options of the connection",
  );
}

function warnOfLog({ malformed, examples }: ReplayedLog, warn: (message: string) => void): void {
  for (const { file, number, text, reason } of examples) {
    warn(`${file}: line ${number} is malformed, ${reason}: ${printable(text, 100)}`);
  }
  const others = malformed - examples.length;
  if (others > 0) warn(`and ${others} more malformed lines`);
}
