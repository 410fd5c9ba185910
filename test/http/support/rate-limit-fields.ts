import { parseList } from "structured-headers";

/** A member of `RateLimit` or `RateLimit-Policy`: the limit's name, and its parameters. */
export interface Field {
  readonly name: unknown;
  readonly [parameter: string]: unknown;
}

/** Parses such a header as an RFC 9651 list; throws for invalid syntax. */
export function parseFields(header: string | undefined): Field[] {
  return parseList(header ?? "").map(([name, parameters]) => ({
    name,
    ...Object.fromEntries(parameters),
  }));
}
