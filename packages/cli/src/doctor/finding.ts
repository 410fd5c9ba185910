import { UnknownFact } from "./facts/fact.ts";
import type { Facts, ServerFacts } from "./facts/facts.ts";

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

/** Checks each server separately. `check` returns undefined if it does not apply to a server. */
export function eachServer(
  check: (server: ServerFacts, facts: Facts) => Finding | undefined,
): Pick<Check, "run"> {
  return {
    run: (facts) =>
      facts.servers.flatMap((server): ServerFinding[] => {
        const finding = check(server, facts);
        return finding === undefined ? [] : [{ ...finding, server: server.address }];
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
