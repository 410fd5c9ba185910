import type { LimiterVersion, SubjectQuery } from "@headgate/core/admin";
import {
  dimensionsOf,
  GLOBAL_SUBJECT,
  resolveSubjects,
  subjectSourcesOf,
} from "@headgate/core/admin";
import type { SubjectByDimension } from "../api.ts";
import { formatSubjectSource } from "../format/http-use.ts";

/** The given client, in the forms that one limiter counts. */
interface DerivedSubjects {
  /** One for each way in which the limiter is used; empty if nothing fits. */
  readonly subjects: readonly SubjectByDimension[];
  /** What the limiter counts by. */
  readonly countsBy: string;
}

/** Creates the subjects of a limiter in the same way as its adapters. A limiter that counts all clients together counts this one, too. */
export async function deriveSubjects(
  known: LimiterVersion,
  client: SubjectQuery,
): Promise<DerivedSubjects> {
  const dimensions = dimensionsOf(known.limiter.limits);
  const isGlobal = dimensions.every((dimension) => dimension === "global");
  const subjects = isGlobal ? [{ global: GLOBAL_SUBJECT }] : await resolveSubjects(known, client);
  return { subjects, countsBy: formatDimensions(dimensions, known) };
}

function formatDimensions(dimensions: readonly string[], known: LimiterVersion): string {
  const each = dimensions.map((dimension) => {
    if (dimension === "global") return "all clients together";
    const sources = subjectSourcesOf(known, dimension).map((one) =>
      formatSubjectSource(one ?? { by: "function" }),
    );
    return `${dimension} (${[...new Set(sources)].join(" or ")})`;
  });
  return `counts ${each.join(" and ")}`;
}
