import type { DeniedNetwork } from "@headgate/core/admin";
import { formatDenyListImpact } from "@headgate/core/admin";
import { formatFromNow } from "@headgate/replay/internal";
import type { AddCommand, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import { readExpiry } from "../command/option-values.ts";
import type { ConnectionOptions, Session } from "../connect/connection.ts";
import { addConnectionOptions, withSession } from "../connect/connection.ts";
import { writeJson } from "../output/json.ts";
import { withTimesInMs } from "../output/policy.ts";
import { writeTables } from "../output/table.ts";
import type { ActionOptions, TaskResult } from "./action.ts";
import { addActionOptions, logOptionsOf, readUsageForPreview, runTasks } from "./action.ts";
import { formatDenyListEntry } from "./inspection.ts";

type ListOptions = ConnectionOptions & { readonly json?: boolean | undefined };

type ChangeOptions = ConnectionOptions & ActionOptions;

type AddOptions = ChangeOptions & {
  readonly for?: string | undefined;
  readonly forever?: boolean | undefined;
};

const COLUMNS = [
  { head: "NETWORK" },
  { head: "ENDS" },
  { head: "BY" },
  { head: "REASON", wraps: true },
] as const;

/** Adds `headgate deny-list`: the addresses and networks that all HTTP limiters with the prefix deny. */
export const addDenyList: AddCommand = ({ program, context, handle }) => {
  const command = program
    .command("deny-list")
    .usage("[options] [add|remove] [network]")
    .summary("deny addresses and networks in every limiter, or list them")
    .description(
      "Lists the addresses and networks whose requests get 403 from every HTTP limiter with this prefix; add and remove change the list.",
    );
  addExamples(command, {
    "headgate deny-list": "the list, with the time left, the operator and the reason",
    "headgate deny-list add 203.0.113.0/24 --for 1h --reason flood": "403 for an hour",
    "headgate deny-list remove 203.0.113.0/24": "admit the network again",
  });
  addConnectionOptions(command)
    .option("--json", "print one JSON document")
    .action(handle((options: ListOptions) => list(options, context)));
  /** Adds the options of `deny-list` itself, which commander assigns to it even after `add` and `remove`. */
  function withListOptions<Options extends object>(options: Options): Options {
    return { ...options, ...command.opts() };
  }

  addActionOptions(
    addConnectionOptions(
      command
        .command("add <network>")
        .summary("deny an address or network")
        .description(
          "Denies an address or a network, such as 203.0.113.0/24, in every HTTP limiter with this prefix. Replaces an entry for the same network. A client on a limiter's own allowList is still admitted.",
        )
        .option("--for <duration>", "how long, such as 30m, 2h or 7d (default: 1d)")
        .option("--forever", "until it is removed"),
    ),
  ).action(
    handle((network: string, given: AddOptions) => {
      const options = withListOptions(given);
      const duration = readExpiry(options);
      return change("add", network, options, context, async (session) => {
        const logged = { ...logOptionsOf(options), for: duration };
        const result = await session.admin.addToDenyList(network, logged);
        if (options.dryRun !== true) return result;
        const usage = await readUsageForPreview(session);
        return { ...result, notes: [formatDenyListImpact(usage, network)] };
      });
    }),
  );
  addActionOptions(
    addConnectionOptions(
      command
        .command("remove <network>")
        .summary("admit an address or network again")
        .description("Removes the entry for exactly this address or network from the deny list."),
    ),
  ).action(
    handle((network: string, given: ChangeOptions) => {
      const options = withListOptions(given);
      return change("remove", network, options, context, ({ admin }) =>
        admin.removeFromDenyList(network, logOptionsOf(options)),
      );
    }),
  );
};

function list(options: ListOptions, context: CommandContext): Promise<number> {
  return withSession(options, context, async ({ admin, now }) => {
    const entries = await admin.denyList();
    const { stdout, stderr } = context;
    if (options.json === true) writeJson(stdout, { entries: entries.map(withTimesInMs) });
    else if (entries.length === 0) stderr.write("headgate: the deny list is empty\n");
    else writeTables(stdout, [COLUMNS, entries.map((entry) => rowOf(entry, now()))]);
    return 0;
  });
}

function rowOf({ network, until, by = "", reason = "" }: DeniedNetwork, now: number): string[] {
  const ends = until === null ? "when it is removed" : formatFromNow(until / 1_000, now);
  return [network, ends, by, reason];
}

function change(
  verb: "add" | "remove",
  network: string,
  options: ChangeOptions,
  context: CommandContext,
  act: (session: Session) => Promise<TaskResult>,
): Promise<number> {
  return withSession(options, context, (session) => {
    const task = {
      name: network,
      run: () => act(session),
      format: (entry: unknown) => [
        entry === undefined
          ? "not on the deny list"
          : formatDenyListEntry(entry as DeniedNetwork, session.now()),
      ],
    };
    return runTasks(`deny-list ${verb}`, [task], options, context);
  });
}
