import { LIMITER_OPTION_HINTS, REQUEST_OPTION_HINTS } from "../common/migration-hints.ts";

/** Options of other libraries whose equivalent differs if they are a function of the request. */
const FUNCTION_HINTS: Readonly<Record<string, string>> = {
  max: "limits: perRequest(fixedWindow({ limit, window }), (request) => ...)",
  limit: "limits: perRequest(fixedWindow({ limit, window }), (request) => ...)",
  timeWindow: "limits: byTier(tiers, (request) => ...), because each window counts for itself",
};

/** Headgate's equivalents for the given options of other libraries. Calls no getter: Headgate does not know these options. */
export function migrationHintsFor(raw: object): Readonly<Record<string, string>> {
  const functions = Object.entries(FUNCTION_HINTS).filter(
    ([name]) => typeof Object.getOwnPropertyDescriptor(Object(raw), name)?.value === "function",
  );
  return { ...LIMITER_OPTION_HINTS, ...REQUEST_OPTION_HINTS, ...Object.fromEntries(functions) };
}
