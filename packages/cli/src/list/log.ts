import type { LimitState } from "@headgate/core";
import type { ActionLog, LogEntry, Override } from "@headgate/core/admin";
import { formatActor, formatLogValue, formatOverride } from "@headgate/core/admin";
import type { Cli, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import { CommandError } from "../command/command-error.ts";
import type { ConnectionOptions } from "../connect/connection.ts";
import { addConnectionOptions, withSession } from "../connect/connection.ts";
import { writeJson } from "../output/json.ts";
import { formatSubjectLabel, withTimesInMs } from "../output/policy.ts";
import { writeTables } from "../output/table.ts";
import { formatTime, toMs } from "../output/time.ts";

interface LogOptions extends ConnectionOptions {
  readonly limiter?: string | undefined;
  readonly limit: string;
  readonly json?: boolean | undefined;
}

const COLUMNS = [
  { head: "WHEN" },
  { head: "WHO" },
  { head: "DID" },
  { head: "LIMITER" },
  { head: "SUBJECT" },
  { head: "CHANGE", wraps: true },
  { head: "REASON", wraps: true },
] as const;

/** The commands whose name differs from the kind of their log entries. */
const COMMAND_NAMES: Readonly<Partial<Record<LogEntry["kind"], string>>> = {
  setOverride: "set",
  unsetOverride: "unset",
  addToDenyList: "deny-list add",
  removeFromDenyList: "deny-list remove",
};

/** Adds `headgate log`, which lists the actions of operators. */
export function addLog({ program, context, handle }: Cli): void {
  const command = program
    .command("log")
    .summary("list the actions of operators")
    .description(
      "Lists the actions of operators on this Redis and prefix, the latest first. The log keeps at most 1,000 actions of the last 90 days.",
    )
    .option("--limiter <name>", "only actions on this limiter")
    .option("--limit <number>", "the maximum number of actions, 1 to 1000", "50")
    .option("--json", "print one JSON document");
  addExamples(addConnectionOptions(command), {
    "headgate log --limiter orders": "the actions on one limiter",
    "headgate log --limit 1 --json": "the latest action, with the states before and after",
  });
  command.action(handle((options: LogOptions) => printLog(options, context)));
}

function printLog(options: LogOptions, context: CommandContext): Promise<number> {
  const limit = readLimit(options.limit);
  return withSession(options, context, async ({ admin }) => {
    const { stdout, stderr } = context;
    const log = await admin.log();
    const entries = filterEntries(log, options.limiter).slice(0, limit);
    if (log.unreadable > 0) {
      stderr.write(
        `headgate: warning: ${log.unreadable} log entries cannot be read: another version of Headgate wrote them\n`,
      );
    }
    if (options.json) {
      writeJson(stdout, { entries: entries.map(toJson), unreadable: log.unreadable });
    } else if (entries.length === 0) {
      stderr.write("headgate: the log is empty\n");
    } else {
      writeTables(stdout, [COLUMNS, entries.map(rowOf)]);
    }
    return 0;
  });
}

function readLimit(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1_000) return limit;
  throw new CommandError("--limit must be a whole number from 1 to 1000");
}

function filterEntries({ entries }: ActionLog, limiter: string | undefined): readonly LogEntry[] {
  return limiter === undefined ? entries : entries.filter((entry) => entry.limiter === limiter);
}

/** Converts an entry for `--json`, with all times in milliseconds. Overrides have them in microseconds. */
function toJson(entry: LogEntry): object {
  const { at, before, after } = entry;
  return { ...entry, at: at.getTime(), before: withTimesInMs(before), after: withTimesInMs(after) };
}

function rowOf(entry: LogEntry): readonly string[] {
  const { at, kind, limiter = "(all)", subject, network, reason } = entry;
  return [
    ...[formatTime(at.getTime()), formatActor(entry), COMMAND_NAMES[kind] ?? kind, limiter],
    ...[
      network === undefined ? formatSubjectLabel(subject) : stringOrEmpty(network),
      formatChange(entry),
      stringOrEmpty(reason),
    ],
  ];
}

/** The log may contain values of any type. */
function stringOrEmpty(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The logged state before or after an action. Other programs may have written any text there. */
interface LoggedState {
  readonly blocked?: unknown;
  readonly limits?: unknown;
  /** The state of a breaker. */
  readonly state?: unknown;
}

/** Formats the change of an entry; empty if the entry does not have it. */
function formatChange({ kind, before, after }: LogEntry): string {
  const [was, is] = [before, after].map((state) => (state ?? {}) as LoggedState);
  switch (kind) {
    case "setOverride":
      return formatOverrideChange(after);
    case "unsetOverride":
      return before === undefined ? "none existed" : `was ${formatOverrideChange(before)}`;
    case "addToDenyList":
      return formatUntil(after);
    case "removeFromDenyList":
      return before === undefined ? "was not on the list" : "";
    case "reset":
      return formatRemaining(was?.limits);
    case "breaker":
      return formatTransition(was?.state, is?.state);
    default:
      return formatTransition(formatBlocked(was?.blocked), formatBlocked(is?.blocked));
  }
}

function formatUntil(entry: unknown): string {
  const { until } = (entry ?? {}) as Partial<Override>;
  if (typeof until !== "number" || until < 0) return until === null ? "until it is removed" : "";
  return `until ${formatTime(toMs(until))}`;
}

function formatOverrideChange(override: unknown): string {
  const { until } = (override ?? {}) as Partial<Override>;
  const end = until === null ? "" : formatUntil(override);
  const inForce = formatOverride(override);
  return end === "" ? inForce : `${inForce}, ${end}`;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function formatRemaining(limits: unknown): string {
  if (!Array.isArray(limits)) return "";
  return limits
    .filter(isObject)
    .map(
      ({ name, remaining, limit }: Partial<LimitState>) =>
        `${formatLogValue(name)} had ${formatLogValue(remaining)} of ${formatLogValue(limit)} left`,
    )
    .join(", ");
}

/** Undefined if it is not logged, for example after the subject was forgotten. */
function formatBlocked(blocked: unknown): string | undefined {
  if (typeof blocked !== "boolean") return undefined;
  return blocked ? "blocked" : "not blocked";
}

function formatTransition(was: unknown, is: unknown): string {
  return typeof was === "string" && typeof is === "string" ? `${was}, now ${is}` : "";
}
