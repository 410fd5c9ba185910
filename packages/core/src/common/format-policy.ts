import { formatOptions } from "./options.ts";
import type { Limit } from "./policy.ts";

/** Formats limits as the calls that build them: `gcra({ limit: 100, window: "1m" })`. Several limits become a list. */
export function formatPolicy(limits: readonly Limit[]): string {
  const written = limits.map(({ algorithm, ...rest }) => `${algorithm}(${formatOptions(rest)})`);
  return written.length === 1 ? String(written[0]) : `[${written.join(", ")}]`;
}
