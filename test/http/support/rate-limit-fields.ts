import { parseList } from "structured-headers";

/** A member of `RateLimit` or `RateLimit-Policy`: the limit's name, and its parameters. */
export interface Field {
  readonly name: unknown;
  readonly [parameter: string]: unknown;
}

/** Reads such a header as RFC 9651 has it; throws where it breaks that syntax. */
export function parseFields(header: string | undefined): Field[] {
  return parseList(header ?? "").map(([name, parameters]) => ({
    name,
    ...Object.fromEntries(parameters),
  }));
}
