import { probeLua } from "./lua.generated.ts";
import type { Step } from "./store.ts";

/** Finds out whether the server of a key can take decisions. The reply tells 1. */
export const probe: Step<string> = {
  name: "probe",
  script: probeLua,
  keys: (key) => [key],
  parameters: () => [],
  replySize: () => 1,
  weight: () => 1,
  twin: (_, __, { now }) => [now, 1],
};

/**
 * A key in the slot of a unit's that is no unit's: it ends with the subject and a word, and a unit's has three parts there.
 */
export function probeKeyFor(unitKey: string): string {
  return `${unitKey.slice(0, unitKey.indexOf("}") + 1)}:probe`;
}
