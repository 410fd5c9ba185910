import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { formatPolicy, quoteName } from "./headers.ts";

/** What answers say of a policy whatever has been decided: written once, because it is part of every answer. */
export interface PolicyText {
  /** `RateLimit-Policy`; undefined where the numbers are those of the request, or a window's length is that of the present one. */
  readonly policy: string | undefined;
  /** The names of the limits, quoted, in their order. */
  readonly names: readonly string[];
}

export function writePolicy(limits: readonly CompiledLimit[]): PolicyText {
  const names = limits.map(({ name }) => quoteName(name));
  const isFixed = limits.every(({ calendar }) => calendar === undefined);
  return { policy: isFixed ? formatPolicy(limits, names) : undefined, names };
}
