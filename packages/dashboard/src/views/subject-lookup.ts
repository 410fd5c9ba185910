import { isIP } from "node:net";
import type { LimiterVersion, SubjectQuery } from "@headgate/core/admin";
import {
  dimensionsOf,
  GLOBAL_SUBJECT,
  isGlobal,
  resolveSubjects,
  subjectSourcesOf,
} from "@headgate/core/admin";
import type { LookupClient, SubjectByDimension } from "../api.ts";
import { formatSubjectSource } from "../format/policy.ts";
import { badRequest, withInputErrors } from "../serve/http-error.ts";

/** A valid request to look up a subject. */
export interface ParsedLookup {
  readonly query: SubjectQuery;
  readonly client: LookupClient;
  readonly limiter: string | undefined;
}

const HEADER_NAME = /^[!#$%&'*+.^`|~\w-]{1,64}$/;

/** Validates a lookup. Throws an `HttpError`, which does not contain the value of a header. */
export function parseLookup(
  { subject, kind, header, limiter }: Record<string, unknown>,
  hashSecret: string | undefined,
): ParsedLookup {
  if (typeof subject !== "string" || subject === "") {
    throw badRequest("subject must be a string that is not empty");
  }
  if (limiter !== undefined && typeof limiter !== "string") {
    throw badRequest("limiter must be the name of a limiter");
  }
  if (kind === "text") {
    return { query: { text: subject }, client: { kind, text: subject }, limiter };
  }
  if (kind === "address") {
    const address = subject.trim();
    if (isIP(address.replace(/%.*$/s, "")) === 0) {
      throw badRequest("subject must be an IP address, such as 203.0.113.7 or 2001:db8::7");
    }
    return { query: { ip: address }, client: { kind, address }, limiter };
  }
  if (kind !== "header") throw badRequest('kind must be "text", "address" or "header"');
  // The message leaves out the name, which may contain the value.
  if (typeof header !== "string" || !HEADER_NAME.test(header)) {
    throw badRequest("header must be the name of a header");
  }
  const name = header.toLowerCase();
  const query: SubjectQuery = {
    header: { name, value: subject },
    hasHashSecret: hashSecret !== undefined,
    hashSecret: () => hashSecret,
  };
  return { query, client: { kind, header: name }, limiter };
}

/** The subjects under which one limiter counts a client. */
interface DerivedSubjects {
  /** One subject for each way in which adapters use the limiter; empty if the limiter cannot count this client. */
  readonly subjects: readonly SubjectByDimension[];
  /** The limiter's dimensions as text. */
  readonly countsBy: string;
}

/**
 * Derives the subjects of a client in the same way as the limiter's adapters. A limiter that counts all clients together includes it.
 * `asked` is the only limiter of the lookup, if it names one: the application's function may return the address itself, which it
 * mostly does not in other limiters.
 */
export async function deriveSubjects(
  known: LimiterVersion,
  client: SubjectQuery,
  asked: string | undefined,
): Promise<DerivedSubjects> {
  const { limits } = known.limiter;
  const countsBy = formatDimensions(dimensionsOf(limits), known);
  if (isGlobal(limits)) {
    return { subjects: [{ global: GLOBAL_SUBJECT }], countsBy };
  }
  const queries = asked === undefined ? [client] : [client, { text: client.ip }];
  const found = await withInputErrors(() =>
    Promise.all(queries.map((query) => resolveSubjects(known, query))),
  );
  const subjects = new Map(found.flat().map((one) => [JSON.stringify(one), one]));
  return { subjects: [...subjects.values()], countsBy };
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
