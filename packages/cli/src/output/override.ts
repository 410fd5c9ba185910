import type { OverrideCoverage } from "@headgate/core/admin";
import { pluralize } from "@headgate/replay/internal";
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
export function formatCoverage({
  state,
  applyingProcesses,
  ignored,
  unknownProcesses,
}: OverrideCoverage): string {
  const applied = applyingProcesses === 0 ? [] : [`in ${formatProcessCount(applyingProcesses)}`];
  const reasons = ignored.map(({ reason, processes: ignoring }) => {
    if (ignoring === 0) return `${state}: ${reason}`;
    return state === "ignored"
      ? `ignored: ${reason}`
      : `ignored by ${formatProcessCount(ignoring)}: ${reason}`;
  });
  const unlisted =
    unknownProcesses === 0 ? [] : [`unknown for ${formatProcessCount(unknownProcesses)}`];
  return [...applied, ...reasons, ...unlisted].join("; ");
}

function formatProcessCount(number: number): string {
  return pluralize(number, "process", "processes");
}
