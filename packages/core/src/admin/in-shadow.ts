import type { Override } from "../control/record.ts";
import type { RegistryLimiter } from "./registry.ts";

/** Whether a limiter is in shadow mode in every process: by the override for all of its subjects, or else by its policies. */
export function isInShadow(
  name: string,
  policies: readonly Pick<RegistryLimiter, "shadow">[],
  overrides: readonly Override[],
): boolean {
  const own = overrides.find(
    ({ limiter, subject, shadow }) =>
      limiter === name && subject === undefined && shadow !== undefined,
  );
  return own?.shadow ?? (policies.length > 0 && policies.every(({ shadow }) => shadow));
}
