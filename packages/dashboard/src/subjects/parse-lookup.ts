import { isIP } from "node:net";
import type { SubjectQuery } from "@headgate/core/admin";
import { badRequest } from "../serve/http-error.ts";

/** A valid request to look up a subject. */
export interface ParsedLookup {
  readonly client: SubjectQuery;
  /** The lookup as text, without the value of a header. */
  readonly asked: string;
  readonly limiter: string | undefined;
}

const HEADER_NAME = /^[!#$%&'*+.^`|~\w-]{1,64}$/;

/** Validates a lookup. Throws an `HttpError`, which does not contain the value of a header. */
export function parseLookup(
  { subject, as, header, limiter }: Record<string, unknown>,
  hashSecret: string | undefined,
): ParsedLookup {
  if (typeof subject !== "string" || subject === "") {
    throw badRequest("subject must be a string that is not empty");
  }
  if (limiter !== undefined && typeof limiter !== "string") {
    throw badRequest("limiter must be the name of a limiter");
  }
  if (as === "text") return { client: { text: subject }, asked: subject, limiter };
  if (as === "address") {
    const address = subject.trim();
    if (isIP(address.replace(/%.*$/s, "")) === 0) {
      throw badRequest("subject must be an IP address, such as 203.0.113.7 or 2001:db8::7");
    }
    return { client: { ip: address }, asked: `address ${address}`, limiter };
  }
  if (as !== "header") throw badRequest('as must be "text", "address" or "header"');
  // The message leaves out the name, which may contain the value.
  if (typeof header !== "string" || !HEADER_NAME.test(header)) {
    throw badRequest("header must be the name of a header");
  }
  const name = header.toLowerCase();
  const client: SubjectQuery = {
    header: { name, value: subject },
    hasHashSecret: hashSecret !== undefined,
    hashSecret: () => hashSecret,
  };
  return { client, asked: `header ${name}`, limiter };
}
