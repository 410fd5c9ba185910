import type { DirectoryBreaker } from "@headgate/core/operate";
import { readDirectory } from "@headgate/core/operate";
import type { Cli } from "../command/add-command.ts";
import { addExamples } from "../command/examples.ts";
import type { Surroundings } from "../command/surroundings.ts";
import type { ConnectionOptions } from "../connect/connection.ts";
import { addConnectionOptions, connect } from "../connect/connection.ts";
import { nameRefused } from "../connect/name-refused.ts";
import { writeJson } from "../output/json.ts";
import { styleFor, widthOf } from "../output/style.ts";
import type { Cell } from "../output/table.ts";
import { formatTable } from "../output/table.ts";
import { serverNow } from "../output/time.ts";
import { formatBreaker } from "./breaker-text.ts";
import { formatProcesses } from "./processes.ts";
import { readStates } from "./read-states.ts";
import { formatStates } from "./states.ts";
import { warnUnread } from "./warn-unread.ts";

interface BreakersOptions extends ConnectionOptions {
  readonly target?: readonly string[] | undefined;
  readonly processes?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** `headgate breakers`: which breakers there are, with which policy, in how many processes, and how targets are doing. */
export function addBreakers({ program, surroundings, handle }: Cli): void {
  const command = program
    .command("breakers")
    .summary("list the circuit breakers and their policies")
    .description(
      "Lists the circuit breakers that processes have on this Redis and prefix, with their policies. The directory does not know targets: name one to see how it is doing.",
    )
    .option(
      "--target <name...>",
      'show how these targets are doing; "default" is that of a breaker by itself',
    )
    .option("--processes", "list the processes as well")
    .option("--json", "print one JSON document");
  addExamples(addConnectionOptions(command), {
    "headgate breakers": "of the Redis that $REDIS_URL names",
    "headgate breakers --target bank-eu": "whether calls to it are let through",
    "headgate breakers --json | jq -r '.breakers[].name'": "their names alone",
  });
  command.action(handle((options: BreakersOptions) => listBreakers(options, surroundings)));
}

async function listBreakers(options: BreakersOptions, surroundings: Surroundings): Promise<number> {
  const connection = await connect(options, surroundings);
  try {
    const { stdout, stderr } = surroundings;
    const { store, prefix, timeoutMs } = connection;
    const now = await serverNow(connection);
    const { breakers, processes, unread } = await nameRefused(
      connection,
      readDirectory(store, { timeout: timeoutMs }),
    );
    const states = await nameRefused(
      connection,
      readStates(connection, breakers, options.target ?? []),
    );
    warnUnread(stderr, unread);
    if (options.json) {
      writeJson(stdout, { breakers, states, processes, unread });
      return 0;
    }
    if (breakers.length === 0) {
      stderr.write(
        `headgate: no breaker is listed with the prefix ${prefix}: a process lists itself ten seconds after it has started; check --prefix and the database\n`,
      );
    }
    const tables = [
      formatBreakers(breakers, surroundings),
      formatStates(states, surroundings),
      options.processes ? formatProcesses(processes, now, widthOf(stdout)) : "",
    ];
    stdout.write(tables.filter((table) => table !== "").join("\n"));
    return 0;
  } finally {
    await connection.close();
  }
}

function formatBreakers(
  breakers: readonly DirectoryBreaker[],
  { stdout, environment }: Surroundings,
): string {
  if (breakers.length === 0) return "";
  const style = styleFor(stdout, environment);
  const rows = breakers.map((breaker): readonly Cell[] => [
    breaker.name,
    breaker.isCut ? "(too long to be listed)" : formatBreaker(breaker.options),
    String(breaker.processes.length),
    {
      text: breaker.isMixed ? "mixed: others have another policy" : "",
      style: (shown) => style("yellow", shown),
    },
  ]);
  const columns = [
    { head: "BREAKER" },
    { head: "POLICY", wraps: true },
    { head: "PROCESSES", align: "right" },
    { head: "NOTES", wraps: true },
  ] as const;
  return formatTable(columns, rows, widthOf(stdout));
}
