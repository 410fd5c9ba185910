import type { LimitState } from "@headgate/core";
import type { LogEntry } from "@headgate/core/admin";
import { formatLogValue } from "@headgate/core/admin";
import { isPlainObject } from "../access/plain-object.ts";
import { describeOverride } from "./override.ts";
import { endMs, formatEnd } from "./time.ts";

/**
 * The states before and after an action in the log, as text; undefined if the log has none, as for a forgotten subject.
 */
export function formatBeforeAfter({ kind, before, after }: LogEntry): {
  readonly before: string | undefined;
  readonly after: string | undefined;
} {
  return { before: formatState(kind, before), after: formatState(kind, after) };
}

function formatState(kind: LogEntry["kind"], state: unknown): string | undefined {
  switch (kind) {
    case "setOverride":
    case "unsetOverride":
      return state === undefined ? "no override" : describeOverride(state);
    case "addToDenyList":
    case "removeFromDenyList":
      return state === undefined ? "not on the deny list" : formatDenyListEntry(state);
    case "breaker":
      return textOf(fieldOf(state, "state"));
    case "reset":
      return formatRemaining(fieldOf(state, "limits"));
    default: {
      const blocked = fieldOf(state, "blocked");
      if (typeof blocked !== "boolean") return undefined;
      return blocked ? "blocked" : "not blocked";
    }
  }
}

function formatDenyListEntry(entry: unknown): string {
  const until = fieldOf(entry, "until");
  if (until === null) return `denied ${formatEnd(null)}`;
  return typeof until === "number" && until >= 0 ? `denied ${formatEnd(endMs(until))}` : "denied";
}

function formatRemaining(limits: unknown): string | undefined {
  if (!Array.isArray(limits)) return undefined;
  return limits
    .filter(isPlainObject)
    .map((state) => {
      const { name, remaining, limit } = state as Partial<LimitState>;
      return `${formatLogValue(name)}: ${formatLogValue(remaining)} of ${formatLogValue(limit)} left`;
    })
    .join(", ");
}

function fieldOf(state: unknown, name: string): unknown {
  return isPlainObject(state) ? state[name] : undefined;
}

/** The log may contain values of any type. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
