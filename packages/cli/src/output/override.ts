import type { OverrideCoverage } from "@headgate/core/admin";
import { pluralize } from "./number.ts";
import { toMs } from "./time.ts";

/** Converts the times of an override, which are in microseconds, to milliseconds for `--json`. Other states stay as they are. */
export function withTimesInMs<State>(state: State): State {
  if (typeof state !== "object" || state === null) return state;
  const times = Object.entries(state)
    .filter(([name, value]) => ["from", "until"].includes(name) && typeof value === "number")
    .map(([name, value]) => [name, toMs(value)]);
  return { ...state, ...Object.fromEntries(times) };
}

/** Formats the coverage of an override: `in 3 processes`, or `ignored: ` and the reason. */
export function formatCoverage({ state, appliedBy, ignored, unknownTo }: OverrideCoverage): string {
  const applied = appliedBy === 0 ? [] : [`in ${formatProcessCount(appliedBy)}`];
  const reasons = ignored.map(({ why, processes: ignoring }) => {
    if (ignoring === 0) return `${state}: ${why}`;
    return state === "ignored"
      ? `ignored: ${why}`
      : `ignored by ${formatProcessCount(ignoring)}: ${why}`;
  });
  const unlisted = unknownTo === 0 ? [] : [`unknown for ${formatProcessCount(unknownTo)}`];
  return [...applied, ...reasons, ...unlisted].join("; ");
}

function formatProcessCount(number: number): string {
  return pluralize(number, "process", "processes");
}
