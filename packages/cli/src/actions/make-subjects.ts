import type { LimiterVersion, SubjectQuery, SubjectSource } from "@headgate/core/operate";
import { dimensionsOf, resolveSubjects, subjectSourcesOf } from "@headgate/core/operate";
import { CommandError } from "../command/command-error.ts";
import type { Skipped } from "./action.ts";

/** A subject of a limiter, by dimension. */
export type Subject = Readonly<Record<string, string>>;

/** A subject, with the limiter that counts it. */
export type MadeSubject = readonly [known: LimiterVersion, subject: Subject];

/** The given subject, as one limiter counts it. */
export interface MadeSubjects {
  /** One for each way in which the limiter is used; none where nothing fits. */
  readonly subjects: readonly Subject[];
  /** What to give for what is missing. */
  readonly needed: string;
}

/** Makes the subjects of a limiter as its adapters do. Rejects with a `CommandError`, and with `HEADGATE_INVALID_OPTION`. */
export async function makeSubjects(
  known: LimiterVersion,
  client: SubjectQuery,
): Promise<MadeSubjects> {
  const dimensions = dimensionsOf(known.limiter.limits);
  const named = [...(client.named?.keys() ?? [])];
  const unknown = named.find((dimension) => !dimensions.includes(dimension));
  const subjects = unknown === undefined ? await resolveSubjects(known, client) : [];
  return { subjects, needed: needed(dimensions, known, unknown) };
}

/** The subjects of several limiters, and the limiters that count none. Rejects with the same errors. */
export async function makeAllSubjects(
  known: readonly LimiterVersion[],
  client: SubjectQuery,
): Promise<{ readonly made: readonly MadeSubject[]; readonly skipped: readonly Skipped[] }> {
  const made: MadeSubject[] = [];
  const skipped: Skipped[] = [];
  for (const one of known) {
    const { subjects, needed: why } = await makeSubjects(one, client);
    made.push(...subjects.map((subject): MadeSubject => [one, subject]));
    if (subjects.length === 0) skipped.push({ limiter: one.limiter.name, why });
  }
  return { made, skipped };
}

/** No limiter counts such a subject. */
export function nothingFits(skipped: readonly Skipped[]): CommandError {
  if (skipped.length === 0) {
    return new CommandError(
      "the directory has no limiter: give --limiter NAME and its policy with --limits",
    );
  }
  const each = skipped.slice(0, 5).map(({ limiter, why }) => `${limiter} ${why}`);
  const more = skipped.length > 5 ? `; and ${skipped.length - 5} more` : "";
  return new CommandError(`no limiter counts such a subject: ${each.join("; ")}${more}`);
}

function needed(
  dimensions: readonly string[],
  known: LimiterVersion,
  unknown: string | undefined,
): string {
  const counts = `counts by ${dimensions.join(", ")}`;
  if (unknown !== undefined) return `${counts}, not by ${unknown}`;
  const each = dimensions.map((dimension) => {
    if (dimension === "global") return "--subject global=*";
    const ways = subjectSourcesOf(known, dimension).map((source) => optionFor(dimension, source));
    return [...new Set(ways)].join(" or ");
  });
  return `${counts}: give ${each.join(" and ")}`;
}

function optionFor(dimension: string, source: SubjectSource | undefined): string {
  if (source?.by === "ip") return "--ip ADDRESS";
  if (source?.by === "header") return `--header ${source.name}`;
  if (source?.by === "all") return source.keys.map(partFor).join(" with ");
  const how = source === undefined ? "" : " (a function of the application makes it)";
  return `--subject ${dimension}=VALUE${how}`;
}

function partFor(source: SubjectSource): string {
  return source.by === "function"
    ? "SUBJECT (what a function of the application makes)"
    : optionFor("", source);
}
