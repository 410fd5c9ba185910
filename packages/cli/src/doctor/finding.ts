import { Unknown } from "./facts/fact.ts";
import type { Facts, ServerFacts } from "./facts/facts.ts";

/** From the best to the worst, except for what is not known. */
export const STATUSES = ["ok", "unknown", "note", "warning", "problem"] as const;

/** A note needs no fix. `unknown`: the server refused the question. */
export type Status = (typeof STATUSES)[number];

/** What a check found on a server, or on all of them together. */
export interface Finding {
  readonly status: Status;
  /** With its numbers: a sentence without its full stop. */
  readonly found: string;
  /** What it means for limits; missing if all is well. */
  readonly means?: string;
  /** How to fix it, in words. */
  readonly mend?: string;
  /** A command that fixes it, for a shell. */
  readonly commands?: readonly string[];
}

/** A finding, and the server it is about; none where it is about all. */
export interface PlacedFinding extends Finding {
  readonly server?: string;
}

/** Judges one thing. It does no I/O and reads no clock. */
export interface Check {
  /** A section of docs/how-to/doctor.md has the same name. */
  readonly name: string;
  examine(facts: Facts): readonly PlacedFinding[];
}

/** Judges each server by itself, if there is anything to judge. */
export function eachServer(
  judge: (server: ServerFacts, facts: Facts) => Finding | undefined,
): Pick<Check, "examine"> {
  return {
    examine: (facts) =>
      facts.servers.flatMap((server): PlacedFinding[] => {
        const finding = judge(server, facts);
        return finding === undefined ? [] : [{ ...finding, server: server.place }];
      }),
  };
}

/** Judges what is known; for the rest it says what would have to be granted. */
export function ifKnown<T>(fact: T | Unknown, judge: (value: T) => Finding): Finding {
  if (!(fact instanceof Unknown)) return judge(fact);
  const { asked, grant, why } = fact;
  const found = `${asked} was not answered: ${why}`;
  if (grant === undefined) return { status: "unknown", found };
  const mend = `to have it checked, grant ${grant} to the user of this command; a service that has no such command says it elsewhere`;
  return { status: "unknown", found, mend };
}
