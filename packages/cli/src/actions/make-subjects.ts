import type { LimiterVersion, SubjectQuery, SubjectSource } from "@headgate/core/admin";
import { dimensionsOf, resolveSubjects, subjectSourcesOf } from "@headgate/core/admin";
import { CommandError } from "../command/command-error.ts";
import type { SkippedLimiter } from "./action.ts";

/** A subject of a limiter, by dimension. */
export type Subject = Readonly<Record<string, string>>;

/** A subject, and the limiter that counts it. */
export type LimiterSubject = readonly [known: LimiterVersion, subject: Subject];

/** The subjects that one limiter makes of a query. */
export interface MakeSubjectsResult {
  /** One for each use of the limiter; empty if the query does not fit. */
  readonly subjects: readonly Subject[];
  /** What the limiter needs in place of the query, as the rest of a sentence. */
  readonly requirement: string;
}

/** Makes the subjects of a limiter in the same way as its adapters. Rejects with a `CommandError`, and with `HEADGATE_INVALID_OPTION`. */
export async function makeSubjects(
  known: LimiterVersion,
  client: SubjectQuery,
): Promise<MakeSubjectsResult> {
  const dimensions = dimensionsOf(known.limiter.limits);
  const named = [...(client.named?.keys() ?? [])];
  const unknown = named.find((dimension) => !dimensions.includes(dimension));
  const subjects = unknown === undefined ? await resolveSubjects(known, client) : [];
  return { subjects, requirement: formatRequirement(dimensions, known, unknown) };
}

/** Makes the subjects of several limiters, and lists the limiters without one. Rejects like `makeSubjects`. */
export async function makeSubjectsOfAll(
  known: readonly LimiterVersion[],
  client: SubjectQuery,
): Promise<{
  readonly limiterSubjects: readonly LimiterSubject[];
  readonly skipped: readonly SkippedLimiter[];
}> {
  const limiterSubjects: LimiterSubject[] = [];
  const skipped: SkippedLimiter[] = [];
  for (const one of known) {
    const { subjects, requirement: reason } = await makeSubjects(one, client);
    limiterSubjects.push(...subjects.map((subject): LimiterSubject => [one, subject]));
    if (subjects.length === 0) skipped.push({ limiter: one.limiter.name, reason });
  }
  return { limiterSubjects, skipped };
}

/** The error that no limiter counts such a subject. */
export function noSubjectError(skipped: readonly SkippedLimiter[]): CommandError {
  if (skipped.length === 0) {
    return new CommandError(
      "the registry has no limiters: give --limiter NAME, and its policy with --limits",
    );
  }
  const each = skipped.slice(0, 5).map(({ limiter, reason }) => `${limiter} ${reason}`);
  const more = skipped.length > 5 ? `; and ${skipped.length - 5} more` : "";
  return new CommandError(`no limiter counts such a subject: ${each.join("; ")}${more}`);
}

function formatRequirement(
  dimensions: readonly string[],
  known: LimiterVersion,
  unknown: string | undefined,
): string {
  const counts = `counts by ${dimensions.join(", ")}`;
  if (unknown !== undefined) return `${counts}, not by ${unknown}`;
  const each = dimensions.map((dimension) => {
    if (dimension === "global") return "--subject global=*";
    const ways = subjectSourcesOf(known, dimension).map((source) =>
      formatOption(dimension, source),
    );
    return [...new Set(ways)].join(" or ");
  });
  return `${counts}: give ${each.join(" and ")}`;
}

function formatOption(dimension: string, source: SubjectSource | undefined): string {
  if (source?.by === "ip") return "--ip ADDRESS";
  if (source?.by === "header") return `--header ${source.name}`;
  if (source?.by === "combined") return source.keys.map(formatPart).join(" with ");
  const how = source === undefined ? "" : " (as returned by the application's key function)";
  return `--subject ${dimension}=VALUE${how}`;
}

function formatPart(source: SubjectSource): string {
  return source.by === "function"
    ? "SUBJECT (as returned by the application's key function)"
    : formatOption("", source);
}
