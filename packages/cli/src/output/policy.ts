import type { Limit } from "@headgate/core";
import type { FormatLimitOptions, OverrideCoverage } from "@headgate/core/admin";
import { formatBreakerOptions, formatLimit, formatSubject } from "@headgate/core/admin";
import { pluralize } from "@headgate/replay/internal";
import { formatDuration } from "../command/option-values.ts";
import { toMs } from "./time.ts";

const SHORT_FORMAT: FormatLimitOptions = {
  formatDuration,
  formatWindow: formatDuration,
  defaultSuffix: "",
};

/** Formats a limit briefly: `100 per 1m (gcra)`, `login: 5 per 15m for each account, blocks for 1h (slidingLog)`. */
export function formatShortLimit(limit: Limit): string {
  return formatLimit(limit, SHORT_FORMAT);
}

/** Formats the policy of a breaker briefly: `opens below 50 % success of at least 20 calls in 5m, for 30s; 5 trial calls`. */
export function formatShortBreaker(options: Readonly<Record<string, unknown>>): string {
  return formatBreakerOptions(options, SHORT_FORMAT);
}

/** Formats a subject; the default dimension has no name. Without a subject: `(all subjects)`. */
export function formatSubjectLabel(subject: Readonly<Record<string, string>> | undefined): string {
  return formatSubject(subject, "(all subjects)");
}

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
