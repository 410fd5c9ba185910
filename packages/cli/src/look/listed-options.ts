import type { BreakerOptions } from "@headgate/breaker";
import type { Duration } from "@headgate/core";

/** The options of a breaker as the directory has them: of a function `openFor`, the times that it gives. */
export function readListedOptions(listed: Readonly<Record<string, unknown>>): BreakerOptions {
  const { openFor } = listed;
  if (!Array.isArray(openFor)) return listed as BreakerOptions;
  return {
    ...listed,
    openFor: (opened) => openFor[Math.min(opened, openFor.length) - 1] as Duration,
  };
}
