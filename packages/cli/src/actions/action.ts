import type { Readable, Writable } from "node:stream";
import { confirm as ask, isCancel } from "@clack/prompts";
import { HeadgateError } from "@headgate/core";
import type { ActionOptions as Logged, OverrideCoverage, RecentUsage } from "@headgate/core/admin";
import { readRecentUsage } from "@headgate/core/admin";
import { escapeHidden } from "@headgate/replay/internal";
import type { Command } from "commander";
import type { CommandContext } from "../command/cli.ts";
import { CommandError, EXIT } from "../command/command-error.ts";
import type { Connection } from "../connect/connection.ts";
import { writeJson } from "../output/json.ts";
import { formatCoverage, withTimesInMs } from "../output/policy.ts";
import { isTerminal, printSection } from "../output/style.ts";
import { formatTime } from "../output/time.ts";

/** The options that `addActionOptions` adds to a command. */
export interface ActionOptions {
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
  readonly dryRun?: boolean | undefined;
  readonly yes?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Adds the options that all commands with changes have in common. */
export function addActionOptions(command: Command): Command {
  return command
    .option("--reason <text>", "the reason, for the log")
    .option("--by <name>", "the operator, for the log (default: your user name on this system)")
    .option("--dry-run", "show what would change, and change nothing")
    .option("--yes", "skip the confirmation")
    .option("--json", "print one JSON document");
}

/** The options for an action of the admin API. */
export function logOptionsOf({ reason, by, dryRun }: ActionOptions): Logged {
  return { reason, by, dryRun };
}

/** Asks for confirmation before an action on several subjects or limiters. Rejects with a `CommandError` unless the answer is yes. */
export async function confirm(
  what: string,
  isConfirmed: boolean | undefined,
  { stdin, stderr, signal }: CommandContext,
): Promise<void> {
  if (isConfirmed === true) return;
  if (!isTerminal(stdin)) {
    throw new CommandError(`this would ${what}: confirm with --yes, or preview it with --dry-run`);
  }
  const answer = await ask({
    message: `This will ${escapeHidden(what)}. Continue?`,
    initialValue: false,
    withGuide: false,
    input: stdin as Readable,
    output: stderr as Writable,
    signal,
  });
  if (isCancel(answer) || !answer) throw new CommandError("cancelled: nothing was changed", 130);
}

/** One step of an action: a limiter and a subject. */
export interface Task {
  /** Missing if the task concerns all limiters. */
  readonly limiter?: string | undefined;
  /** The object of the action, for people to read. */
  readonly name: string;
  /** Runs the task, or with `--dry-run` finds out what it would change. */
  run(): Promise<TaskResult>;
  /** Formats a state before or after the task. */
  format(state: unknown): readonly string[];
}

/** The result of a task. */
export interface TaskResult {
  readonly before: unknown;
  readonly after: unknown;
  /** When the change is in force everywhere, by the server's clock. */
  readonly effectiveAt: Date;
  /** More results, as sentences. */
  readonly notes?: readonly string[];
  /** For an override: the processes that apply it, and those that ignore it. */
  readonly coverage?: OverrideCoverage;
}

/** Recent usage of a limiter, or of all, for the preview of an action; undefined if it cannot be read. */
export function readUsageForPreview(
  { store, timeoutMs }: Pick<Connection, "store" | "timeoutMs">,
  limiter?: string,
): Promise<RecentUsage | undefined> {
  return readRecentUsage(store, { timeout: timeoutMs, limiter }).catch(() => undefined);
}

/** A limiter that an action does not cover. */
export interface SkippedLimiter {
  readonly limiter: string;
  /** The rest of a sentence that begins with the limiter's name. */
  readonly reason: string;
}

type RunOptions = Pick<ActionOptions, "dryRun" | "json">;

/**
 * Runs tasks one after the other, and prints for each the states before and after, and when the change is in force everywhere. If the store
 * fails midway, rejects with a `CommandError` that lists the tasks that were done and those that were not.
 */
export async function runTasks(
  action: string,
  tasks: readonly Task[],
  { dryRun = false, json = false }: RunOptions,
  context: CommandContext,
  skipped: readonly SkippedLimiter[] = [],
): Promise<number> {
  const done: object[] = [];
  let failure: HeadgateError | undefined;
  for (const task of tasks) {
    try {
      done.push(await runTask(action, task, { dryRun, json }, context));
    } catch (error) {
      if (!(error instanceof HeadgateError)) throw error;
      failure = error;
      break;
    }
  }
  const notDone = tasks.slice(done.length).map(({ limiter, name }) => ({ limiter, name }));
  if (json) writeJson(context.stdout, { action, dryRun, done, notDone, skipped });
  else
    for (const { limiter, reason } of skipped) {
      context.stdout.write(`${escapeHidden(`skipped ${limiter}, which ${reason}`)}\n`);
    }
  if (failure === undefined) return 0;
  if (dryRun || done.length === 0) throw failure;
  throw new CommandError(
    `${action}: done in ${formatTaskNames(tasks.slice(0, done.length))}; not in ${formatTaskNames(tasks.slice(done.length))}, which may be half done for the first: run the command again; ${failure.message} (${failure.code})`,
    EXIT.store,
    { cause: failure },
  );
}

async function runTask(
  action: string,
  task: Task,
  { dryRun, json }: { readonly dryRun: boolean; readonly json: boolean },
  context: CommandContext,
): Promise<object> {
  const { limiter, name } = task;
  const { before, after, effectiveAt, notes = [], coverage } = await task.run();
  const isEverywhere = coverage === undefined || coverage.state === "in-force";
  const by = formatTime(Math.ceil(effectiveAt.getTime() / 1_000) * 1_000);
  if (!json) {
    printSection(context, `${name}: ${dryRun ? "would " : ""}${action}`, [
      ...task.format(before).map((line) => `before: ${line}`),
      ...task.format(after).map((line) => `${dryRun ? "after" : "now"}: ${line}`),
      ...notes,
      ...(isEverywhere ? [] : [`in force: ${formatCoverage(coverage)}`]),
      dryRun ? "nothing was changed" : `${isEverywhere ? "in force" : "known"} everywhere by ${by}`,
    ]);
  }
  const states = { before: withTimesInMs(before), after: withTimesInMs(after) };
  const when = dryRun ? {} : { effectiveAt: effectiveAt.getTime() };
  return { limiter, name, ...states, ...when, notes, coverage };
}

function formatTaskNames(tasks: readonly Task[]): string {
  return tasks.map(({ limiter, name }) => limiter ?? name).join(", ");
}
