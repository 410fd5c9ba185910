import type { LimitDescription } from "../policy.ts";
import { formatPolicy, quoteName } from "./headers.ts";

/** What answers say of a policy whatever has been decided: written once, because it is part of every answer. */
export interface PolicyText {
  /** `RateLimit-Policy`; undefined where the numbers are those of the request. */
  readonly policy: string | undefined;
  /** The names of the limits, quoted, in their order. */
  readonly names: readonly string[];
}

export function writePolicy(limits: readonly LimitDescription[]): PolicyText {
  const names = limits.map(({ name }) => quoteName(name));
  return { policy: formatPolicy(limits, names), names };
}
