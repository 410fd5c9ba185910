import type { OverrideReach } from "@headgate/core/operate";
import { count } from "../doctor/format-numbers.ts";

/** Where an override is in force: `in 3 processes`, or `ignored: ` and the reason. */
export function formatReach({ state, appliedBy, ignored, unknownTo }: OverrideReach): string {
  const applied = appliedBy === 0 ? [] : [`in ${processes(appliedBy)}`];
  const misfits = ignored.map(({ why, processes: ignoring }) => {
    if (ignoring === 0) return `${state}: ${why}`;
    return state === "ignored" ? `ignored: ${why}` : `ignored by ${processes(ignoring)}: ${why}`;
  });
  const unlisted = unknownTo === 0 ? [] : [`unknown for ${processes(unknownTo)}`];
  return [...applied, ...misfits, ...unlisted].join("; ");
}

function processes(number: number): string {
  return count(number, "process", "processes");
}
