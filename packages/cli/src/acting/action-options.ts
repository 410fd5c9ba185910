import type { ActionOptions as Logged } from "@headgate/core/operate";
import type { Command } from "commander";

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
export function loggedOf({ reason, by, dryRun }: ActionOptions): Logged {
  return { reason, by, dryRun };
}
