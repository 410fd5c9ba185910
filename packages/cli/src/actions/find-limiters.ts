import { readPolicy } from "@headgate/core";
import type { LimiterVersion, RegistryLimiter } from "@headgate/core/admin";
import { limiterVersionsOf, readRegistry } from "@headgate/core/admin";
import type { Command } from "commander";
import type { CommandContext } from "../command/cli.ts";
import { CommandError } from "../command/command-error.ts";
import { readJson } from "../command/read-json.ts";
import type { Connection } from "../connect/connection.ts";
import { warnUnread } from "../list/registry.ts";

/** What `addLimiterOptions` adds to a command. */
export interface LimiterOptions {
  readonly limiter?: string | undefined;
  readonly limits?: string | undefined;
  readonly blockOn?: string | undefined;
}

export function addLimiterOptions(command: Command): Command {
  return command
    .option("--limiter <name>", "the limiter, as the directory has it")
    .option("--limits <json>", "its policy as JSON, or @FILE, if the directory does not have it")
    .option("--block-on <settle>", "with --limits, if the limiter blocks by what is kept");
}

/**
 * The limiters that options name: those of the directory, or the one whose policy is given. Where one has several policies, it is
 * there once for each. Rejects with a `CommandError`, and as `readRegistry`.
 */
export async function findLimiters(
  { store, timeoutMs }: Pick<Connection, "store" | "timeoutMs">,
  options: LimiterOptions,
  { stderr }: Pick<CommandContext, "stderr">,
): Promise<readonly LimiterVersion[]> {
  const { limiter: name, limits, blockOn } = options;
  if (limits !== undefined) return [limiterFromOptions(name, limits, blockOn)];
  if (blockOn !== undefined)
    throw new CommandError("--block-on is for a policy that --limits gives");
  const { limiters, unread } = await readRegistry(store, { timeout: timeoutMs });
  warnUnread(stderr, unread);
  if (name === undefined)
    return limiterVersionsOf(limiters.filter((one) => isListedCompletely(one, stderr)));
  const found = limiters.filter((one) => one.name === name);
  if (found.length === 0) throw unknownLimiterError(name, limiters);
  if (found.some(({ isCut }) => isCut === true)) {
    throw new CommandError(
      `the policy of ${JSON.stringify(name)} is too long for the directory: give it with --limits @FILE`,
    );
  }
  return limiterVersionsOf(found);
}

function limiterFromOptions(
  name: string | undefined,
  json: string,
  blockOn: string | undefined,
): LimiterVersion {
  if (name === undefined)
    throw new CommandError("--limits is the policy of one limiter: name it with --limiter");
  if (blockOn !== undefined && blockOn !== "settle")
    throw new CommandError('--block-on must be "settle"');
  const policy = readPolicy(readJson("--limits", json));
  const limits = Array.isArray(policy) ? policy : [policy];
  return {
    limiter: { name, limits, others: [], blockOn },
    others: [],
    uses: [],
    counterIdentity: "",
    isMixed: false,
  };
}

function isListedCompletely(
  { name, isCut }: RegistryLimiter,
  stderr: NodeJS.WritableStream,
): boolean {
  if (isCut !== true) return true;
  stderr.write(
    `headgate: ${JSON.stringify(name)} is left out, because its policy is too long for the directory: name it, with --limits @FILE\n`,
  );
  return false;
}

function unknownLimiterError(name: string, limiters: readonly RegistryLimiter[]): CommandError {
  const names = [...new Set(limiters.map((one) => JSON.stringify(one.name)))];
  const there = names.length === 0 ? "which is empty" : `which has ${names.join(", ")}`;
  return new CommandError(
    `no limiter ${JSON.stringify(name)} in the directory, ${there}; if it is not listed, as in the first 15 seconds of a process, give its policy with --limits`,
  );
}
