import type { SubjectLookup } from "../../../../src/api.ts";

/** An IPv4 address, or text that can only be an IPv6 address. */
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|(?=.*:.*:)[\da-f:.]+(?:%\w+)?)$/i;

/** The most likely kind of a subject. */
export function kindOf(subject: string): "text" | "address" {
  return ADDRESS.test(subject.trim()) ? "address" : "text";
}

type Params = Readonly<Record<string, string | undefined>>;

/** The lookup in a URL; undefined if there is none. A header's value is never in a URL. */
export function lookupFromParams(params: Params): SubjectLookup | undefined {
  const { subject, as, limiter } = params as Record<
    "subject" | "as" | "limiter",
    string | undefined
  >;
  if (subject === undefined || subject === "" || as === "header") return undefined;
  const kind = as === "text" || as === "address" ? as : kindOf(subject);
  return { subject, as: kind, ...(limiter ? { limiter } : {}) };
}

/** The parts of a lookup that may be in the URL. */
export function paramsOfLookup({ subject, as, header, limiter }: SubjectLookup): Params {
  if (as === "header") return { as, header, limiter };
  return { subject, as: as === kindOf(subject) ? undefined : as, limiter };
}

/** The subject of an answer, to begin a sentence with: `203.0.113.7`, `The sender of this x-api-key`. */
export function askedInWords(asked: string): string {
  return asked.replace(/^address /, "").replace(/^header /, "The sender of this ");
}
