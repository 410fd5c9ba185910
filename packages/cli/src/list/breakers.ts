import type { RegistryBreaker } from "@headgate/core/admin";
import { readRegistry } from "@headgate/core/admin";
import type { Cli, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import type { ConnectionOptions } from "../connect/connection.ts";
import { addConnectionOptions } from "../connect/connection.ts";
import { explainRefused } from "../connect/explain-refused.ts";
import { withSession } from "../connect/session.ts";
import { writeJson } from "../output/json.ts";
import { formatShortBreaker } from "../output/policy.ts";
import { styleFor, widthOf } from "../output/style.ts";
import type { Cell } from "../output/table.ts";
import { formatTable } from "../output/table.ts";
import { formatProcesses, warnUnread } from "./registry.ts";
import { formatTargetStates, readTargetStates } from "./target-states.ts";

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
  return withSession(options, context, async ({ connection, now }) => {
    const { stdout, stderr } = context;
    const { store, prefix, timeoutMs } = connection;
    const { breakers, processes, unreadable } = await explainRefused(
      connection,
      readRegistry(store, { timeout: timeoutMs }),
    );
    const { states, unreadCount } = await explainRefused(
      connection,
      readTargetStates(connection, breakers, options.target),
    );
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
      stderr.write(
        `headgate: no breaker is listed with the prefix ${prefix}: processes appear ten seconds after their start; check --prefix and the database\n`,
      );
    }
    const tables = [
      formatBreakers(breakers, context),
      formatTargetStates(states, context),
      options.processes ? formatProcesses(processes, now(), widthOf(stdout)) : "",
    ];
    stdout.write(tables.filter((table) => table !== "").join("\n"));
    return 0;
  });
}

function formatBreakers(
  breakers: readonly RegistryBreaker[],
  { stdout, environment }: CommandContext,
): string {
  if (breakers.length === 0) return "";
  const style = styleFor(stdout, environment);
  const rows = breakers.map((breaker): readonly Cell[] => [
    breaker.name,
    breaker.isTruncated ? "(too long for the registry)" : formatShortBreaker(breaker.options),
    String(breaker.processes.length),
    { text: notesOf(breaker), style: (shown) => style("yellow", shown) },
  ]);
  const columns = [
    { head: "BREAKER" },
    { head: "POLICY", wraps: true },
    { head: "PROCESSES", align: "right" },
    { head: "NOTES", wraps: true },
  ] as const;
  return formatTable(columns, rows, widthOf(stdout));
}

function notesOf({ hasOtherVersions, targets, moreTargets = 0 }: RegistryBreaker): string {
  const notes = [
    hasOtherVersions ? "mixed: other processes have another policy" : "",
    targets === undefined ? "targets unknown: give them with --target" : "",
    moreTargets > 0 ? `at least ${moreTargets} more targets` : "",
  ];
  return notes.filter((note) => note !== "").join("; ");
}
