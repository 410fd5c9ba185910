import { quoteForShell } from "../output/terminal-text.ts";
import type { Facts, ServerAddress, ServerFacts } from "./facts/facts.ts";
import { UnknownFact } from "./facts/facts.ts";

/** From the best to the worst; `unknown` stands between `ok` and `note`. */
export const STATUSES = ["ok", "unknown", "note", "warning", "problem"] as const;

/** A note needs no fix. `unknown` means that the server refused the command. */
export type Status = (typeof STATUSES)[number];

/** The result of a check on one server, or on all of them together. */
export interface Finding {
  readonly status: Status;
  /** The result with its numbers, as a sentence without a full stop. */
  readonly message: string;
  /** The consequence for limits; missing if all is well. */
  readonly impact?: string;
  /** How to fix it, as a sentence without a full stop. */
  readonly fix?: string;
  /** Shell commands that fix it. */
  readonly commands?: readonly string[];
}

/** A finding with its server, which is missing if the finding concerns all servers. */
export interface ServerFinding extends Finding {
  readonly server?: string;
}

/** Checks one aspect of the gathered facts. It does no I/O and reads no clock. */
export interface Check {
  /** A section of docs/how-to/doctor.md has the same name. */
  readonly name: string;
  run(facts: Facts): readonly ServerFinding[];
}

type Known<T> = Exclude<T, UnknownFact | undefined>;

/** Checks a fact of each server. Skips servers for which the fact is undefined. */
export function eachServer<Name extends keyof ServerFacts>(
  name: string,
  fact: Name,
  check: (known: Known<ServerFacts[Name]>, server: ServerFacts, facts: Facts) => Finding,
): Check {
  return {
    name,
    run: (facts) =>
      facts.servers.flatMap((server): ServerFinding[] => {
        if (server[fact] === undefined) return [];
        const value = server[fact] as Known<ServerFacts[Name]> | UnknownFact;
        const finding = ifKnown(value, (known) => check(known, server, facts));
        return [{ ...finding, server: server.address }];
      }),
  };
}

/** Checks a known fact. For an unknown one, the finding names the permission that is missing. */
export function ifKnown<T>(fact: T | UnknownFact, check: (value: T) => Finding): Finding {
  if (!(fact instanceof UnknownFact)) return check(fact);
  const { command, missingPermission, error } = fact;
  const message = `${command} failed: ${error}`;
  if (missingPermission === undefined) return { status: "unknown", message };
  const fix = `to have it checked, grant ${missingPermission} to the user of this command; a service that has no such command says it elsewhere`;
  return { status: "unknown", message, fix };
}

/** A fix by another setting, with the command that is in force until the server restarts. */
export function fixSetting(
  server: ServerFacts,
  fix: string,
  setting: string,
  value: number | string,
): Pick<Finding, "fix" | "commands"> {
  return {
    fix: `${fix}; change it in the server's configuration file as well`,
    commands: [redisCliCommand(server, "CONFIG", "SET", setting, String(value))],
  };
}

/** A shell command for a server: `redis-cli -h 10.0.0.7 -p 6379 CONFIG SET maxmemory 2gb`. */
export function redisCliCommand(
  { redisCliArgs }: ServerAddress,
  ...args: readonly string[]
): string {
  return ["redis-cli", ...redisCliArgs, ...args].map(quoteForShell).join(" ");
}

/** A shell command on a key, which may be on another server of the cluster. */
export function redisCliKeyCommand(server: ServerFacts, ...args: readonly string[]): string {
  const isCluster = server.cluster !== undefined;
  return redisCliCommand(
    { ...server, redisCliArgs: isCluster ? ["-c", ...server.redisCliArgs] : server.redisCliArgs },
    ...args,
  );
}
