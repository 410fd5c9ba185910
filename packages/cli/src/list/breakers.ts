import type { Snapshot } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import type { Duration } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import type { RegistryBreaker } from "@headgate/core/admin";
import { breakerOptionsOf, readRegistry } from "@headgate/core/admin";
import { formatSpan } from "@headgate/replay/internal";
import type { Cli, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import type { Connection, ConnectionOptions } from "../connect/connection.ts";
import { addConnectionOptions, withSession } from "../connect/connection.ts";
import { writeJson } from "../output/json.ts";
import { formatShortBreaker } from "../output/policy.ts";
import type { Style } from "../output/style.ts";
import { styleFor } from "../output/style.ts";
import type { Cell, Column } from "../output/table.ts";
import { writeTables } from "../output/table.ts";
import { PROCESS_COLUMNS, processRow, warnNothingListed, warnUnread } from "./registry.ts";

interface BreakersOptions extends ConnectionOptions {
  readonly target?: readonly string[] | undefined;
  readonly processes?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Adds `headgate breakers`, which lists breakers with their policies, processes and targets. */
export function addBreakers({ program, context, handle }: Cli): void {
  const command = program
    .command("breakers")
    .summary("list the circuit breakers and their policies")
    .description(
      "Lists the circuit breakers of the processes on this Redis and prefix, with their policies and the states of the targets that they have called.",
    )
    .option(
      "--target <name...>",
      'show only these targets; "default" is the target of a breaker used without for()',
    )
    .option("--processes", "also list the processes")
    .option("--json", "print one JSON document");
  addExamples(addConnectionOptions(command), {
    "headgate breakers": "on the Redis of $REDIS_URL",
    "headgate breakers --target bank-eu": "the state of one target",
    "headgate breakers --json | jq -r '.breakers[].name'": "only the names",
  });
  command.action(handle((options: BreakersOptions) => listBreakers(options, context)));
}

function listBreakers(options: BreakersOptions, context: CommandContext): Promise<number> {
  return withSession(options, context, async (session) => {
    const { stdout, stderr } = context;
    const { store, prefix, timeoutMs, now } = session;
    const { breakers, processes, unreadable } = await readRegistry(store, { timeout: timeoutMs });
    const { states, unreadCount } = await readTargetStates(session, breakers, options.target);
    warnUnread(stderr, unreadable);
    if (unreadCount > 0) {
      stderr.write(
        `headgate: warning: cannot read the states of ${unreadCount} targets: this user lacks permissions, or the keys contain other values; --target NAME prints the reason\n`,
      );
    }
    if (options.json) {
      writeJson(stdout, { breakers, states, processes, unreadable });
      return 0;
    }
    if (breakers.length === 0) {
      warnNothingListed(stderr, "breaker", prefix);
    }
    const style = styleFor(stdout, context.environment);
    writeTables(
      stdout,
      [BREAKER_COLUMNS, breakers.map((one) => breakerRow(one, style))],
      [TARGET_COLUMNS, states.map((one) => targetRow(one, style))],
      [PROCESS_COLUMNS, options.processes ? processes.map((one) => processRow(one, now())) : []],
    );
    return 0;
  });
}

const BREAKER_COLUMNS: readonly Column[] = [
  { head: "BREAKER" },
  { head: "POLICY", wraps: true },
  { head: "PROCESSES", align: "right" },
  { head: "NOTES", wraps: true },
];

function breakerRow(breaker: RegistryBreaker, style: Style): readonly Cell[] {
  return [
    breaker.name,
    breaker.isTruncated ? "(too long for the registry)" : formatShortBreaker(breaker.options),
    String(breaker.processes.length),
    { text: notesOf(breaker), style: (shown) => style("yellow", shown) },
  ];
}

function notesOf({ hasOtherVersions, targets, moreTargets = 0 }: RegistryBreaker): string {
  const notes = [
    hasOtherVersions ? "other processes have another version" : "",
    targets === undefined ? "targets unknown: give them with --target" : "",
    moreTargets > 0 ? `at least ${moreTargets} more targets` : "",
  ];
  return notes.filter((note) => note !== "").join("; ");
}

interface TargetState extends Omit<Snapshot, "degraded"> {
  readonly breaker: string;
  /** Identifies one of several policies with the same name, which have separate windows. */
  readonly policy: string;
  readonly target: string;
}

/** The states of the readable targets, and the number of the others. */
interface TargetStatesResult {
  readonly states: readonly TargetState[];
  readonly unreadCount: number;
}

/**
 * Reads the states of targets, sorted by breaker and target: those given, each of which must be readable, or else those in the
 * registry. Skips a breaker whose options are too long for the registry. Rejects like a store.
 */
async function readTargetStates(
  connection: Connection,
  breakers: readonly RegistryBreaker[],
  targetNames: readonly string[] | undefined,
): Promise<TargetStatesResult> {
  const states: TargetState[] = [];
  const seen = new Set<string>();
  let unreadCount = 0;
  // Sequentially, because creating two breakers with different policies and one name at the same time is an error.
  for (const breaker of breakers) {
    if (breaker.isTruncated) continue;
    // The registry lists a breaker for each version of Headgate, but it has one state.
    const targets = (targetNames ?? breaker.targets ?? []).filter((target) =>
      addIfNew(seen, JSON.stringify([breaker.name, breaker.policy, target])),
    );
    const found = await readBreakerTargets(connection, breaker, targets);
    const readable = found.filter((state) => state !== undefined);
    unreadCount += found.length - readable.length;
    states.push(...readable);
  }
  if (targetNames !== undefined && unreadCount > 0) throw storeUnavailable();
  return { states, unreadCount };
}

function addIfNew(known: Set<string>, id: string): boolean {
  return known.size < known.add(id).size;
}

/** Undefined for targets whose state could not be read. */
async function readBreakerTargets(
  { store, timeoutMs }: Connection,
  { name, policy, options }: RegistryBreaker,
  targets: readonly string[],
): Promise<readonly (TargetState | undefined)[]> {
  const own = { name, store, storeTimeout: timeoutMs as Duration };
  const breaker = createBreaker({ ...breakerOptionsOf(options), ...own });
  try {
    const snapshots = await Promise.all(targets.map((target) => breaker.for(target).snapshot()));
    return snapshots.map(({ degraded, ...snapshot }, i) => {
      // A degraded breaker knows only its own process.
      if (degraded) return undefined;
      return { breaker: name, policy, target: targets[i] as string, ...snapshot };
    });
  } finally {
    await breaker.close();
  }
}

function storeUnavailable(): HeadgateError {
  return new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "the store could not answer");
}

const TARGET_COLUMNS: readonly Column[] = [
  { head: "BREAKER" },
  { head: "TARGET" },
  { head: "STATE" },
  { head: "CALLS", align: "right" },
  { head: "SUCCESS", align: "right" },
  { head: "FAILED", align: "right" },
  { head: "SLOW", align: "right" },
  { head: "TRIAL CALLS" },
];

/** The state of a target, in color unless closed. */
function targetRow(target: TargetState, style: Style): readonly Cell[] {
  const { state, calls, successRate, failures, slowCalls, retryAfterMs } = target;
  return [
    target.breaker,
    target.target,
    { text: state, style: (shown) => (state === "closed" ? shown : style("yellow", shown)) },
    ...[String(calls), formatRate(successRate), String(failures), String(slowCalls)],
    retryAfterMs > 0 ? `in ${formatSpan(retryAfterMs)}` : "",
  ];
}

/** Formats a percentage, rounded down: only a target without failures has 100.0 %. */
function formatRate(rate: number | null): string {
  return rate === null ? "" : `${(Math.floor(rate * 1_000) / 10).toFixed(1)} %`;
}
