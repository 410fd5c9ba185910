import type { LimiterVersion, SubjectQuery } from "@headgate/core/admin";
import {
  dimensionsOf,
  GLOBAL_SUBJECT,
  resolveSubjects,
  subjectSourcesOf,
} from "@headgate/core/admin";
import type { SubjectByDimension } from "../api.ts";
import { formatSubjectSource } from "../format/http-use.ts";
import { withInputErrors } from "../serve/http-error.ts";

/** The subjects under which one limiter counts a client. */
interface DerivedSubjects {
  /** One subject for each way in which adapters use the limiter; empty if the limiter cannot count this client. */
  readonly subjects: readonly SubjectByDimension[];
  /** The limiter's dimensions as text. */
  readonly countsBy: string;
}

/** Derives the subjects of a client in the same way as the limiter's adapters. A limiter that counts all clients together includes it. */
export async function deriveSubjects(
  known: LimiterVersion,
  client: SubjectQuery,
): Promise<DerivedSubjects> {
  const dimensions = dimensionsOf(known.limiter.limits);
  const isGlobal = dimensions.every((dimension) => dimension === "global");
  const subjects = isGlobal
    ? [{ global: GLOBAL_SUBJECT }]
    : await withInputErrors(() => resolveSubjects(known, client));
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
