import type { LookupClient, SubjectLookup } from "../../../../src/api.ts";

/** An IPv4 address, or text that can only be an IPv6 address. */
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|(?=.*:.*:)[\da-f:.]+(?:%\w+)?)$/i;

/** The most likely kind of a subject. */
export function kindOf(subject: string): "text" | "address" {
  return ADDRESS.test(subject.trim()) ? "address" : "text";
}

type Params = Readonly<Record<string, string | undefined>>;

/** The lookup in a URL; undefined if there is none. A header's value is never in a URL. */
export function lookupFromParams(params: Params): SubjectLookup | undefined {
  const { subject, kind, limiter } = params as Record<
    "subject" | "kind" | "limiter",
    string | undefined
  >;
  if (subject === undefined || subject === "" || kind === "header") return undefined;
  const known = kind === "text" || kind === "address" ? kind : kindOf(subject);
  return { subject, kind: known, ...(limiter ? { limiter } : {}) };
}

/** The parts of a lookup that may be in the URL. */
export function paramsOfLookup({ subject, kind, header, limiter }: SubjectLookup): Params {
  if (kind === "header") return { kind, header, limiter };
  return { subject, kind: kind === kindOf(subject) ? undefined : kind, limiter };
}

/** The client of a lookup, to begin a sentence with: `203.0.113.7`, `The sender of this x-api-key`. */
export function formatClient(client: LookupClient): string {
  switch (client.kind) {
    case "text":
      return client.text;
    case "address":
      return client.address;
    case "header":
      return `The sender of this ${client.header}`;
  }
}
