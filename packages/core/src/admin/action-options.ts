import { formatKind, invalidOption, invalidValue } from "../common/errors.ts";
import { readBoolean, rejectUnknownOptions } from "../common/options.ts";
import { requireName } from "../policy/names.ts";
import type { ActionOptions, BreakerAction } from "./admin.ts";

/** Longer subjects would make the record large, and every process reads it. */
const MAX_SUBJECT_CHARACTERS = 1_000;

/** Checks the reason and the operator's name. Throws `HEADGATE_INVALID_OPTION`. */
export function readActionOptions(
  owner: string,
  options: ActionOptions,
  more: readonly string[] = [],
): ActionOptions {
  rejectUnknownOptions(owner, options, ["reason", "by", "dryRun", ...more]);
  const { reason, by } = options;
  requireText("reason", reason, 1_000);
  requireText("by", by, 256);
  return { reason, by, dryRun: readBoolean("dryRun", options.dryRun) };
}

function requireText(option: string, text: unknown, most: number): void {
  if (text === undefined || (typeof text === "string" && text.length <= most)) return;
  throw invalidValue(`${option} must be a string of at most ${most} characters`, text, formatKind);
}

/** Throws `HEADGATE_INVALID_OPTION` for a subject that is too long for the record. */
export function requireShortSubject(subject: Readonly<Record<string, string>>): void {
  const long = Object.values(subject).find((text) => text.length > MAX_SUBJECT_CHARACTERS);
  if (long === undefined) return;
  throw invalidOption(
    `a subject must have at most ${MAX_SUBJECT_CHARACTERS} characters, got ${long.length}`,
  );
}

/** Checks the log entry of a breaker. Throws `HEADGATE_INVALID_OPTION`. */
export function readBreakerAction(action: BreakerAction): BreakerAction {
  rejectUnknownOptions("logBreakerAction", action, ["breaker", "target", "before", "after"]);
  const { breaker, target } = action;
  requireName(breaker);
  if (typeof target !== "string" || target === "") {
    throw invalidValue("target must be the name of a target", target);
  }
  requireShortSubject({ target });
  return action;
}
