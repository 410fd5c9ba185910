import type { LimitState } from "@headgate/core";
import type {
  Inspection,
  LogEntry,
  Override,
  OverrideCoverage,
  SubjectBlock,
} from "@headgate/core/admin";
import { formatLogValue, formatOverride } from "@headgate/core/admin";
import { isPlainObject } from "@headgate/core/internal";
import { pluralize } from "../counts.ts";
import { endMs, formatEnd, formatTime } from "./time.ts";

/** The state before or after an action in the log, as text; undefined if the log has none, as for a forgotten subject. */
export function formatLoggedState(kind: LogEntry["kind"], state: unknown): string | undefined {
  switch (kind) {
    case "setOverride":
    case "unsetOverride":
      return describeOverride(state);
    case "addToDenyList":
    case "removeFromDenyList":
      return state === undefined ? "not on the deny list" : `denied${endOf(state, " ")}`;
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

/** The changes of an override and its end, as text. The log may contain any value. */
export function describeOverride(override: unknown): string {
  if (override === undefined) return "no override";
  return `${formatOverride(override)}${endOf(override, ", ")}`;
}

/** The end of an entry of the control record as text, after a separator; empty if it is unknown. */
function endOf(entry: unknown, separator: string): string {
  const until = fieldOf(entry, "until") as Override["until"] | undefined;
  const isKnown = until === null || (typeof until === "number" && until >= 0);
  return isKnown ? `${separator}${formatEnd(endMs(until))}` : "";
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

/** The reasons why processes ignore an override, one text each. */
export function formatIgnoredReasons({
  ignored,
  unknownProcesses,
}: OverrideCoverage): readonly string[] {
  const reasons = ignored.map(({ reason, processes }) =>
    processes === 0 ? reason : `${reason} (in ${pluralize(processes, "process", "processes")})`,
  );
  return unknownProcesses === 0
    ? reasons
    : [...reasons, `not known of ${pluralize(unknownProcesses, "process", "processes")}`];
}

/** The usage of each limit, and the blocks, a line each. */
export function formatInspection(
  { limits, blocks }: Pick<Inspection, "limits" | "blocks">,
  now: number,
): readonly string[] {
  const blocked = blocks.map((block) => formatBlock(block, now));
  return [...limits.map(formatUsage), ...(blocked.length === 0 ? ["not blocked"] : blocked)];
}

/** The usage of a limit: `api: 3 of 100 used`. */
function formatUsage({ name, limit, remaining, overdrawn, windowMs }: LimitState): string {
  const used = limit - remaining + overdrawn;
  return `${name}: ${used} of ${limit} ${windowMs === 0 ? "slots in use" : "used"}`;
}

/** A block: `blocked by the limit login until 2026-11-22 23:05:10 UTC`. A block without a limit does not say who set it. */
function formatBlock({ per, limit, endsInMs }: SubjectBlock, now: number): string {
  const by = limit === undefined ? "" : ` by the limit ${limit}`;
  const where = per === "default" ? "" : ` in ${per}`;
  return `blocked${by}${where} until ${formatTime(now + endsInMs)}`;
}
