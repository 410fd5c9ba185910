import { UnknownFact } from "./facts/fact.ts";
import type { Facts, ServerFacts } from "./facts/facts.ts";

/** From the best to the worst, except for what is not known. */
export const STATUSES = ["ok", "unknown", "note", "warning", "problem"] as const;

/** A note needs no fix. `unknown`: the server refused the question. */
export type Status = (typeof STATUSES)[number];

/** What a check found on a server, or on all of them together. */
export interface Finding {
  readonly status: Status;
  /** With its numbers: a sentence without its full stop. */
  readonly message: string;
  /** What it means for limits; missing if all is well. */
  readonly impact?: string;
  /** How to fix it, in words. */
  readonly fix?: string;
  /** A command that fixes it, for a shell. */
  readonly commands?: readonly string[];
}

/** A finding, and the server it is about; none where it is about all. */
export interface ServerFinding extends Finding {
  readonly server?: string;
}

/** Judges one thing. It does no I/O and reads no clock. */
export interface Check {
  /** A section of docs/how-to/doctor.md has the same name. */
  readonly name: string;
  run(facts: Facts): readonly ServerFinding[];
}

/** Judges each server by itself, if there is anything to judge. */
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

/** Judges what is known; for the rest it says what would have to be granted. */
export function ifKnown<T>(fact: T | UnknownFact, check: (value: T) => Finding): Finding {
  if (!(fact instanceof UnknownFact)) return check(fact);
  const { asked, missingPermission, error } = fact;
  const message = `${asked} was not answered: ${error}`;
  if (missingPermission === undefined) return { status: "unknown", message };
  const fix = `to have it checked, grant ${missingPermission} to the user of this command; a service that has no such command says it elsewhere`;
  return { status: "unknown", message, fix };
}
