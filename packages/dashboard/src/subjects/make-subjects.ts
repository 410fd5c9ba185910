import type { LimiterVersion, SubjectQuery } from "@headgate/core/operate";
import {
  dimensionsOf,
  GLOBAL_SUBJECT,
  resolveSubjects,
  subjectSourcesOf,
} from "@headgate/core/operate";
import type { SubjectOf } from "../api.ts";
import { formatSource } from "../format/use.ts";

/** The given client, in the forms that one limiter counts. */
interface MadeSubjects {
  /** One for each way in which the limiter is used; empty if nothing fits. */
  readonly subjects: readonly SubjectOf[];
  /** What the limiter counts by. */
  readonly needs: string;
}

/** Creates the subjects of a limiter in the same way as its adapters. A limiter that counts all clients together counts this one, too. */
export async function makeSubjects(
  known: LimiterVersion,
  client: SubjectQuery,
): Promise<MadeSubjects> {
  const dimensions = dimensionsOf(known.limiter.limits);
  const isForEverybody = dimensions.every((dimension) => dimension === "global");
  const subjects = isForEverybody
    ? [{ global: GLOBAL_SUBJECT }]
    : await resolveSubjects(known, client);
  return { subjects, needs: needsOf(dimensions, known) };
}

function needsOf(dimensions: readonly string[], known: LimiterVersion): string {
  const each = dimensions.map((dimension) => {
    if (dimension === "global") return "all clients together";
    const sources = subjectSourcesOf(known, dimension).map((one) =>
      formatSource(one ?? { by: "function" }),
    );
    return `${dimension} (${[...new Set(sources)].join(" or ")})`;
  });
  return `counts ${each.join(" and ")}`;
}
