import type { ControlRecord, LimiterDefinition, LogEntry, Registry } from "@headgate/core/admin";
import { overridesFor } from "@headgate/core/admin";
import type { BlockRow, LogRow, OverrideRow, SubjectByDimension } from "../api.ts";
import { textOf } from "../format/change.ts";
import { toLogRow } from "./log.ts";
import { toOverrideRows } from "./override-rows.ts";

/** Data about a prefix for looking up a subject. */
export interface SubjectContext {
  readonly at: number;
  readonly record: ControlRecord;
  readonly registry: Registry;
  readonly log: readonly LogEntry[];
}

/** The maximum number of actions in a history. */
const MAX_HISTORY = 20;

/** Operators' actions on a subject of a limiter, or on all of its subjects. */
export function historyOf(
  { log }: SubjectContext,
  limiter: string,
  subject: SubjectByDimension,
): readonly LogRow[] {
  return log
    .filter((entry) => entry.limiter === limiter && entry.kind !== "breaker")
    .filter((entry) => entry.subject === undefined || sharesDimension(entry.subject, subject))
    .slice(0, MAX_HISTORY)
    .map(toLogRow);
}

/** The operator who set a subject's block, and the reason, from the log. */
export function manualBlockAuthor(
  { log }: SubjectContext,
  limiter: string,
  subject: SubjectByDimension,
): Pick<BlockRow, "by" | "reason"> {
  const entry = log.find(
    (one) =>
      one.kind === "block" &&
      one.limiter === limiter &&
      one.subject !== undefined &&
      sharesDimension(one.subject, subject),
  );
  if (entry === undefined) return {};
  return { by: textOf(entry.by), reason: textOf(entry.reason) };
}

/** The override that applies to a subject: the one that takes precedence. */
export function overrideFor(
  { record, registry, log, at }: SubjectContext,
  { name }: LimiterDefinition,
  subject: SubjectByDimension,
): OverrideRow | undefined {
  const override = overridesFor(record, name, subject, at).at(-1);
  return override === undefined ? undefined : toOverrideRows([override], registry, log)[0];
}

function sharesDimension(one: SubjectByDimension, subject: SubjectByDimension): boolean {
  return Object.entries(one).some(([per, text]) => subject[per] === text);
}
