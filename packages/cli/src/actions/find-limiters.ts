import { readPolicy } from "@headgate/core";
import type { LimiterVersion, RegistryLimiter } from "@headgate/core/admin";
import { limiterVersionsOf, readRegistry } from "@headgate/core/admin";
import type { Command } from "commander";
import type { CommandContext } from "../command/cli.ts";
import { CommandError } from "../command/command-error.ts";
import { readJson } from "../command/read-json.ts";
import type { Connection } from "../connect/connection.ts";
import { warnUnread } from "../list/registry.ts";

/** The options that `addLimiterOptions` adds to a command. */
export interface LimiterOptions {
  readonly limiter?: string | undefined;
  readonly limits?: string | undefined;
  readonly blockOn?: string | undefined;
}

export function addLimiterOptions(command: Command): Command {
  return command
    .option("--limiter <name>", "the name of the limiter in the registry")
    .option(
      "--limits <json>",
      "the policy as JSON, or @FILE, if the limiter is not in the registry",
    )
    .option("--block-on <settle>", "with --limits, if the limiter blocks by settled charges only");
}

/**
 * Finds the limiters that the options select: those in the registry, or the one whose policy is given. A limiter with several policies
 * has one entry for each. Rejects with a `CommandError`, and like `readRegistry`.
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
  const { limiters, unreadable } = await readRegistry(store, { timeout: timeoutMs });
  warnUnread(stderr, unreadable);
  if (name === undefined)
    return limiterVersionsOf(limiters.filter((one) => isListedCompletely(one, stderr)));
  const found = limiters.filter((one) => one.name === name);
  if (found.length === 0) throw unknownLimiterError(name, limiters);
  if (found.some(({ isTruncated }) => isTruncated === true)) {
    throw new CommandError(
      `the policy of ${JSON.stringify(name)} is too long for the registry: give it with --limits @FILE`,
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
    throw new CommandError("--limits is the policy of one limiter: give its name with --limiter");
  if (blockOn !== undefined && blockOn !== "settle")
    throw new CommandError('--block-on must be "settle"');
  const policy = readPolicy(readJson("--limits", json));
  const limits = Array.isArray(policy) ? policy : [policy];
  return {
    limiter: { name, limits, perCallPolicies: [], blockOn },
    perCallPolicies: [],
    uses: [],
    counterIdentity: "",
    hasOtherVersions: false,
  };
}

function isListedCompletely(
  { name, isTruncated }: RegistryLimiter,
  stderr: NodeJS.WritableStream,
): boolean {
  if (isTruncated !== true) return true;
  stderr.write(
    `headgate: skipped ${JSON.stringify(name)}, whose policy is too long for the registry: name it, and give its policy with --limits @FILE\n`,
  );
  return false;
}

function unknownLimiterError(name: string, limiters: readonly RegistryLimiter[]): CommandError {
  const names = [...new Set(limiters.map((one) => JSON.stringify(one.name)))];
  const there = names.length === 0 ? "which is empty" : `which has ${names.join(", ")}`;
  return new CommandError(
    `no limiter ${JSON.stringify(name)} in the registry, ${there}; if it is not listed yet, as in the first 15 seconds of a process, give its policy with --limits`,
  );
}
