import type { ActiveBlock, ActiveBlocks } from "@headgate/core/admin";
import { readBlocks } from "@headgate/core/admin";
import { formatSpan } from "@headgate/replay/internal";
import type { AddCommand, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import type { ConnectionOptions } from "../connect/connection.ts";
import { addConnectionOptions, withConnection } from "../connect/connection.ts";
import { writeJson } from "../output/json.ts";
import { formatSubjectLabel } from "../output/policy.ts";
import { styleFor } from "../output/style.ts";
import type { Cell } from "../output/table.ts";
import { writeTables } from "../output/table.ts";
import { warnUnread } from "./registry.ts";

interface BlocksOptions extends ConnectionOptions {
  readonly limiter?: string | undefined;
  readonly json?: boolean | undefined;
}

const COLUMNS = [
  { head: "LIMITER" },
  { head: "SUBJECT" },
  { head: "ENDS IN", align: "right" },
  { head: "SET BY" },
  { head: "REASON", wraps: true },
  { head: "" },
] as const;

/** Adds `headgate blocks`, which lists the blocks in force. */
export const addBlocks: AddCommand = ({ program, context, handle }) => {
  const command = program
    .command("blocks")
    .summary("list the blocks in force")
    .description(
      "Lists the blocks in force: manual blocks in the log, and blocks with which processes that record usage have denied a request.",
    )
    .option("--limiter <name>", "only blocks of this limiter")
    .option("--json", "print one JSON document");
  addExamples(addConnectionOptions(command), {
    "headgate blocks": "all limiters, with the remaining time and the origin of each block",
    "headgate blocks --limiter login": "one limiter",
  });
  command.action(
    handle((options: BlocksOptions) =>
      withConnection(options, context, async ({ store, timeoutMs }) => {
        const read = await readBlocks(store, { timeout: timeoutMs });
        const isWanted = ({ limiter }: ActiveBlock): boolean =>
          options.limiter === undefined || limiter === options.limiter;
        const found = { ...read, blocks: read.blocks.filter(isWanted) };
        warnUnread(context.stderr, found.unreadable);
        if (options.json) writeJson(context.stdout, found);
        else print(found, context);
        return 0;
      }),
    ),
  );
};

function print(found: ActiveBlocks, { stdout, stderr, environment }: CommandContext): void {
  const { at, blocks, isComplete, uncheckedCount } = found;
  const style = styleFor(stdout, environment);
  const rows = blocks.map((block): readonly Cell[] => [
    block.limiter,
    formatSubjectLabel({ [block.dimension]: block.subject ?? `#${block.hash}` }),
    formatSpan(Math.max(0, block.until - at)),
    formatSetter(block),
    block.reason ?? "",
    {
      text: block.shadow ? "in shadow mode: denies no request" : "",
      style: (shown) => style("yellow", shown),
    },
  ]);
  if (blocks.length === 0) stdout.write("No blocks are in force.\n");
  writeTables(stdout, [COLUMNS, rows]);
  if (blocks.some(({ hash }) => hash !== undefined)) {
    stderr.write(
      'Each #... is the hash of a subject: usage stores long subjects as hashes, and the others too unless usage: { subjects: "plain" } is set.\n',
    );
  }
  if (!isComplete) {
    stderr.write("headgate: the list of blocks is full, so there may be more blocks\n");
  }
  if (uncheckedCount > 0) {
    stderr.write(
      `headgate: ${uncheckedCount} listed blocks could not be checked, because no process lists their limiter\n`,
    );
  }
}

function formatSetter({ limit, by, setAt, reason }: ActiveBlock): string {
  if (limit !== undefined) return `the limit ${limit}`;
  if (by !== undefined) return `the operator ${by}`;
  if (setAt !== undefined) return "an operator";
  // The log has no entry of it: an operator's block whose entry made room for others has no reason.
  return reason === undefined ? "the application or an operator" : "the application";
}
