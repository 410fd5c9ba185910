import { setTimeout as delay } from "node:timers/promises";
import type { Duration } from "@headgate/core";
import { Option } from "commander";
import type { AddCommand, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import { CommandError } from "../command/command-error.ts";
import { readDuration } from "../command/option-values.ts";
import type { Connection, ConnectionOptions } from "../connect/connection.ts";
import { addConnectionOptions, withConnection } from "../connect/connection.ts";
import { writeJson } from "../output/json.ts";
import { createProgress } from "../output/progress.ts";
import { isTerminal, styleFor, widthOf } from "../output/style.ts";
import type { CounterTop } from "./counter-top.ts";
import { readCounterTop } from "./counter-top.ts";
import { formatTop } from "./format-top.ts";
import type { FleetTop, SubjectOrder, UsageTop } from "./usage-top.ts";
import { formatFleet, readFleetTop, readUsageTop } from "./usage-top.ts";

type TopResult = UsageTop | CounterTop | FleetTop;

/** Processes send counts about this often, and subjects less often. */
const REFRESH_MS = 5_000;

/** Clears a terminal. */
const CLEAR = "\x1b[2J\x1b[H";

interface TopOptions extends ConnectionOptions {
  readonly by?: SubjectOrder | undefined;
  readonly span: string;
  readonly subject?: string | undefined;
  readonly keys: string;
  readonly follow?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Adds `headgate top [LIMITER]`, which lists the limiters with the most denials, or the busiest or most denied subjects of one limiter. */
export const addTop: AddCommand = ({ program, context, handle }) => {
  const command = program
    .command("top")
    .summary("list the limiters with the most denials, or the busiest subjects of one")
    .description(
      "Lists the limiters with the most denials, each with its most denied subjects; or the busiest or most denied subjects of one limiter.",
    )
    .argument("[limiter]", "its name (default: all)")
    .addOption(
      new Option(
        "--by <what>",
        "the order of subjects (default: used; for all limiters: denied)",
      ).choices(["used", "denied"]),
    )
    .option("--span <time>", "the time span, from 10s to 30d; subjects are stored for a day", "1h")
    .option("--subject <subject>", "only this subject, also if subjects are stored as hashes")
    .option("--keys <count>", "without usage: the maximum number of keys to scan", "100000")
    .option(
      "--follow",
      "repeat every five seconds, until Ctrl-C; subjects lag half a minute behind totals",
    )
    .option("--json", "print one JSON document");
  addExamples(command, {
    "headgate top": "the limiters with the most denials, and their most denied subjects",
    "headgate top api": "the busiest subjects of the last hour",
    "headgate top api --by denied --span 10m": "the most denied subjects",
    "headgate top api --follow": "refresh every five seconds",
  });
  addConnectionOptions(command).action(
    handle((limiter: string | undefined, options: TopOptions) => {
      const mostKeys = readKeys(options.keys);
      readDuration("--span", options.span, "10s", "30d");
      requireFollowable(options, context);
      if (limiter === undefined && options.subject !== undefined) {
        throw new CommandError("--subject needs a limiter: name it, or leave out --subject");
      }
      return withConnection(options, context, async (connection) => {
        const read = () => readTop(connection, limiter, options, mostKeys, context);
        if (options.follow) await follow(read, context);
        else print(await read(), options.json === true, context);
        return 0;
      });
    }),
  );
};

function readKeys(text: string): number {
  const keys = Number(text);
  if (Number.isSafeInteger(keys) && keys > 0) return keys;
  throw new CommandError(`--keys must be a whole number from 1, got ${JSON.stringify(text)}`);
}

function requireFollowable({ follow, json }: TopOptions, { stdout }: CommandContext): void {
  if (!follow) return;
  if (json) throw new CommandError("--follow cannot be used with --json: leave one of them out");
  if (!isTerminal(stdout)) throw new CommandError("--follow needs a terminal: leave it out");
}

async function readTop(
  connection: Connection,
  limiter: string | undefined,
  { by: given, span, subject, follow }: TopOptions,
  mostKeys: number,
  context: CommandContext,
): Promise<TopResult> {
  if (limiter === undefined) return readFleetTop(connection, given ?? "denied", span as Duration);
  const by = given ?? "used";
  const found = await readUsageTop(connection, limiter, by, span as Duration, subject);
  if (found !== undefined) return found;
  const noUsage =
    "no usage is recorded for this limiter: turn it on with redisStore(client, { usage: true })";
  if (by === "denied") throw new CommandError(`${noUsage}; counters do not record denials`);
  if (follow) throw new CommandError(`${noUsage}, or leave out --follow`);
  if (subject !== undefined) throw new CommandError(`${noUsage}, or leave out --subject`);
  const progress = createProgress(context.stderr, "scanning keys {bar} {value}/{total}");
  return readCounterTop(connection, limiter, mostKeys, progress, context.signal);
}

/** Refreshes the output until an interruption, which is not an error here. */
async function follow(read: () => Promise<TopResult>, context: CommandContext): Promise<void> {
  const { stdout, signal } = context;
  while (!signal.aborted) {
    const top = await read();
    stdout.write(CLEAR);
    print(top, false, context);
    await delay(REFRESH_MS, undefined, { signal }).catch(() => {});
  }
}

function print(
  top: TopResult,
  isJson: boolean,
  { stdout, stderr, environment }: CommandContext,
): void {
  if (isJson) writeJson(stdout, top);
  else if ("limiters" in top) stdout.write(formatFleet(top, widthOf(stdout)));
  else stdout.write(formatTop(top, styleFor(stdout, environment), widthOf(stdout)));
  const note = noteFor(top);
  if (!isJson && note !== undefined) stderr.write(`${note}\n`);
}

const NO_USAGE_NOTE =
  "Either no usage is recorded, or there were no requests: redisStore(client, { usage: true }) turns usage on. headgate top LIMITER reads the counters of one limiter.";

const HASH_NOTE =
  'Each #... is the hash of a subject: usage stores long subjects as hashes, and the others too unless usage: { subjects: "plain" } is set. --subject SUBJECT looks one up.';

const SHADOW_NOTE =
  "Counted by the mode of a limiter now: before it was put in shadow mode, the requests that would be denied were denied.";

function noteFor(top: TopResult): string | undefined {
  if ("limiters" in top) {
    return top.limiters.length === 0 ? NO_USAGE_NOTE : usageNoteFor(top.limiters);
  }
  if (top.source === "usage") return usageNoteFor([top]);
  const { scannedKeys, isComplete, hashedSubjects } = top;
  const looked = isComplete
    ? `Scanned all ${scannedKeys} keys.`
    : `Scanned ${scannedKeys} keys, which are not all of them: raise the number with --keys.`;
  const left =
    hashedSubjects > 0
      ? ` ${hashedSubjects} long subjects are known only by their hash, and not shown.`
      : "";
  return `No usage is recorded for this limiter, so the list comes from its counters. ${looked}${left}`;
}

function usageNoteFor(
  limiters: readonly Pick<UsageTop, "shadow" | "subjects">[],
): string | undefined {
  const hasHashes = limiters.some(({ subjects }) =>
    subjects.some(({ hash }) => hash !== undefined),
  );
  const hasShadow = limiters.some(({ shadow }) => shadow);
  const notes = [...(hasShadow ? [SHADOW_NOTE] : []), ...(hasHashes ? [HASH_NOTE] : [])];
  return notes.length === 0 ? undefined : notes.join("\n");
}
