import type {
  ControlRecord,
  DeniedNetwork,
  LimiterVersion,
  SubjectQuery,
} from "@headgate/core/admin";
import { ignoredReasonOf, overridesFor, queriedAddress } from "@headgate/core/admin";
import type { CommandContext } from "../command/cli.ts";
import type { Session } from "../connect/connection.ts";
import { withTimesInMs } from "../output/policy.ts";
import { printSection } from "../output/style.ts";
import type { SkippedLimiter } from "./action.ts";
import { formatDenyListEntry, formatOverrideLine } from "./inspection.ts";
import type { LimiterSubject, Subject, SubjectsOptions } from "./selection.ts";
import { makeSubjects, noSubjectError } from "./selection.ts";

/** A subject in one limiter: the document of `--json`, and the same for people. */
export interface SubjectReport<Document> {
  readonly document: Document;
  readonly headline: string;
  readonly lines: readonly string[];
}

/** The reports on all subjects that a query selects. */
export interface SubjectReports<Document> {
  readonly reports: readonly SubjectReport<Document>[];
  /** The limiters without such a subject. */
  readonly skipped: readonly SkippedLimiter[];
  /** The deny-list entries that contain the address in the query, as in `--json`. */
  readonly denyList: readonly DeniedNetwork[];
  /** Prints the reports, or those that are given, and before them the entries. */
  print(context: CommandContext, reports?: readonly SubjectReport<Document>[]): void;
}

/**
 * Reports on the subjects that the limiters make of a query, and on the query's address if that is on the deny list. Rejects with a
 * `CommandError` if there are none, and like `read` and the admin API.
 */
export async function reportOnSubjects<Document>(
  { admin, now }: Session,
  limiters: readonly LimiterVersion[],
  query: SubjectQuery,
  read: (
    subject: LimiterSubject,
    control: ControlRecord,
    isDenied: boolean,
  ) => Promise<SubjectReport<Document>>,
  options?: SubjectsOptions,
): Promise<SubjectReports<Document>> {
  const control = await admin.readControl();
  const { limiterSubjects, skipped } = await makeSubjects(limiters, query, options);
  const address = queriedAddress(query);
  const entries = address === undefined ? [] : await admin.denyList(address);
  const reports: SubjectReport<Document>[] = [];
  for (const one of limiterSubjects) reports.push(await read(one, control, entries.length > 0));
  if (reports.length === 0 && entries.length === 0) throw noSubjectError(skipped);
  return {
    reports,
    skipped,
    denyList: entries.map(withTimesInMs),
    print(context, printed = reports) {
      if (entries.length > 0) {
        printSection(context, `${address} is on the deny list: 403 in every HTTP limiter`, [
          ...entries.map((entry) => formatDenyListEntry(entry, now())),
          "limiters with the address in their own allowList still admit it",
        ]);
      }
      for (const { headline, lines } of printed) printSection(context, headline, lines);
    },
  };
}

/**
 * The overrides of a limiter for a subject, the one with the highest priority last, for `--json` and for people. `now` is in
 * milliseconds.
 */
export function describeOverrides(
  control: ControlRecord,
  { name, limits, perCallPolicies }: LimiterVersion["limiter"],
  subject: Subject,
  now: number,
): { readonly documents: readonly object[]; readonly lines: readonly string[] } {
  const found = overridesFor(control, name, subject, now).map((override) => ({
    override,
    ignoredBecause: ignoredReasonOf([limits, ...perCallPolicies], override),
  }));
  return {
    documents: found.map(({ override, ignoredBecause }) => ({
      ...withTimesInMs(override),
      ignoredBecause,
    })),
    lines: found.map(({ override, ignoredBecause }) => {
      const ignored = ignoredBecause === undefined ? "" : `, ignored because ${ignoredBecause}`;
      return `override${ignored}: ${formatOverrideLine(override)}`;
    }),
  };
}
