import type { Readable, Writable } from "node:stream";
import { confirm as ask, isCancel } from "@clack/prompts";
import { HeadgateError } from "@headgate/core";
import type { ActionOptions as Logged, OverrideCoverage } from "@headgate/core/admin";
import type { Command } from "commander";
import type { CommandContext } from "../command/cli.ts";
import { CommandError, EXIT } from "../command/command-error.ts";
import { writeJson } from "../output/json.ts";
import { formatCoverage, withTimesInMs } from "../output/override.ts";
import { printSection } from "../output/section.ts";
import { isTerminal } from "../output/style.ts";
import { escapeHidden } from "../output/terminal-text.ts";
import { formatTime } from "../output/time.ts";

/** What `addActionOptions` adds to a command. */
export interface ActionOptions {
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
  readonly dryRun?: boolean | undefined;
  readonly yes?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Adds the options of all commands that change something. */
export function addActionOptions(command: Command): Command {
  return command
    .option("--reason <text>", "why, for the log of actions")
    .option("--by <name>", "who does it, for the log (default: your name on this system)")
    .option("--dry-run", "show what would change, and change nothing")
    .option("--yes", "do not ask")
    .option("--json", "print one JSON document");
}

/** What the operator's actions take of these options. */
export function logOptionsOf({ reason, by, dryRun }: ActionOptions): Logged {
  return { reason, by, dryRun };
}

/** Asks before more than one subject or limiter is acted on. Rejects with a `CommandError` unless the answer is yes. */
export async function confirm(
  what: string,
  isConfirmed: boolean | undefined,
  { stdin, stderr, signal }: CommandContext,
): Promise<void> {
  if (isConfirmed === true) return;
  if (!isTerminal(stdin)) {
    throw new CommandError(`this would ${what}: say --yes, or look at it with --dry-run`);
  }
  const answer = await ask({
    message: `This will ${escapeHidden(what)}. Go on?`,
    initialValue: false,
    withGuide: false,
    input: stdin as Readable,
    output: stderr as Writable,
    signal,
  });
  if (isCancel(answer) || !answer) throw new CommandError("nothing was done", 130);
}

/** One thing to be done. */
export interface Task {
  /** Missing where it is of all limiters. */
  readonly limiter?: string | undefined;
  /** Its object, in words. */
  readonly name: string;
  /** Does it, or with `--dry-run` finds out what it would change. */
  run(): Promise<TaskResult>;
  /** The state, in words. */
  format(state: unknown): readonly string[];
}

/** The result of a task. */
export interface TaskResult {
  readonly before: unknown;
  readonly after: unknown;
  /** By the server's clock. */
  readonly inForceAt: Date;
  /** More sentences. */
  readonly notes?: readonly string[];
  /** Of an override: the processes that apply it, and those that ignore it. */
  readonly coverage?: OverrideCoverage;
}

/** A limiter that an action does not reach. */
export interface SkippedLimiter {
  readonly limiter: string;
  /** In words that follow its name. */
  readonly reason: string;
}

interface RunOptions {
  readonly dryRun?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/**
 * Does one task after the other, and prints for each the state before and after, and from when it is in force everywhere. If the store fails in
 * the middle, it rejects with a `CommandError` that says what was done and what was not.
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
      context.stdout.write(`${escapeHidden(`not in ${limiter}, which ${reason}`)}\n`);
    }
  if (failure === undefined) return 0;
  if (dryRun || done.length === 0) throw failure;
  throw new CommandError(
    `${action}: done in ${formatTaskNames(tasks.slice(0, done.length))}; not in ${formatTaskNames(tasks.slice(done.length))}, the first of which may be half done: run the command again; ${failure.message} (${failure.code})`,
    EXIT.store,
    { cause: failure },
  );
}

async function runTask(
  action: string,
  task: Task,
  { dryRun, json }: Required<RunOptions>,
  context: CommandContext,
): Promise<object> {
  const { limiter, name } = task;
  const { before, after, inForceAt, notes = [], coverage } = await task.run();
  const isEverywhere = coverage === undefined || coverage.state === "in-force";
  const by = formatTime(Math.ceil(inForceAt.getTime() / 1_000) * 1_000);
  if (!json) {
    printSection(context, `${name}: ${dryRun ? "would " : ""}${action}`, [
      ...task.format(before).map((line) => `before: ${line}`),
      ...task.format(after).map((line) => `${dryRun ? "after" : "now"}: ${line}`),
      ...notes,
      ...(isEverywhere ? [] : [`in force: ${formatCoverage(coverage)}`]),
      dryRun ? "nothing is changed" : `${isEverywhere ? "in force" : "known"} everywhere by ${by}`,
    ]);
  }
  const states = { before: withTimesInMs(before), after: withTimesInMs(after) };
  const when = dryRun ? {} : { inForceAt: inForceAt.getTime() };
  return { limiter, name, ...states, ...when, notes, reach: coverage };
}

function formatTaskNames(tasks: readonly Task[]): string {
  return tasks.map(({ limiter, name }) => limiter ?? name).join(", ");
}
