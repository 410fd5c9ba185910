import type { LimitState } from "@headgate/core";
import type { LogEntry, Override } from "@headgate/core/admin";
import { formatLogValue, formatOverride } from "@headgate/core/admin";
import { formatTime, toMs } from "../output/time.ts";

/** The logged state before or after an action. Other programs may have written any text there. */
interface LoggedState {
  readonly blocked?: unknown;
  readonly limits?: unknown;
  /** The state of a breaker. */
  readonly state?: unknown;
}

/** Formats the change of an entry; empty if the entry does not have it. */
export function formatChange({ kind, before, after }: LogEntry): string {
  const [was, is] = [before, after].map((state) => (state ?? {}) as LoggedState);
  switch (kind) {
    case "setOverride":
      return formatOverrideChange(after);
    case "unsetOverride":
      return before === undefined ? "none existed" : `was ${formatOverrideChange(before)}`;
    case "addToDenyList":
      return formatUntil(after);
    case "removeFromDenyList":
      return before === undefined ? "was not on the list" : "";
    case "reset":
      return formatRemaining(was?.limits);
    case "breaker":
      return formatTransition(was?.state, is?.state);
    default:
      return formatTransition(formatBlocked(was?.blocked), formatBlocked(is?.blocked));
  }
}

function formatUntil(entry: unknown): string {
  const { until } = (entry ?? {}) as Partial<Override>;
  if (typeof until !== "number" || until < 0) return until === null ? "until it is removed" : "";
  return `until ${formatTime(toMs(until))}`;
}

function formatOverrideChange(override: unknown): string {
  const { until } = (override ?? {}) as Partial<Override>;
  const end = until === null ? "" : formatUntil(override);
  const inForce = formatOverride(override);
  return end === "" ? inForce : `${inForce}, ${end}`;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function formatRemaining(limits: unknown): string {
  if (!Array.isArray(limits)) return "";
  return limits
    .filter(isObject)
    .map(
      ({ name, remaining, limit }: Partial<LimitState>) =>
        `${formatLogValue(name)} had ${formatLogValue(remaining)} of ${formatLogValue(limit)} left`,
    )
    .join(", ");
}

/** Undefined if it is not logged, for example after the subject was forgotten. */
function formatBlocked(blocked: unknown): string | undefined {
  if (typeof blocked !== "boolean") return undefined;
  return blocked ? "blocked" : "not blocked";
}

function formatTransition(was: unknown, is: unknown): string {
  return typeof was === "string" && typeof is === "string" ? `${was}, now ${is}` : "";
}
