import { hintForLargeCount, MAX_COUNT } from "../algorithms/read-limit.ts";
import { formatKind, formatReceived, invalidOption, invalidValue } from "../common/errors.ts";
import { readBoolean, rejectUnknownOptions } from "../common/options.ts";
import { parseDuration } from "../common/time.ts";
import { isPlainObject } from "../common/type-guards.ts";
import { LIMIT_OVERRIDE_FIELDS } from "../control/record-text.ts";
import { requireShortSubject } from "./action-options.ts";
import type { NewOverride, OverrideKey } from "./admin.ts";

/** The most characters as JSON: every process reads it. */
const MAX_OVERRIDE_CHARACTERS = 4_096;

/** How many microseconds an override lasts; undefined for ever. Throws `HEADGATE_INVALID_OPTION`. */
export function readDuration(duration: unknown = "1d"): number | undefined {
  if (duration === "forever") return undefined;
  return parseDuration(duration, 'for, unless it is "forever",', "HEADGATE_INVALID_OPTION");
}

/** Checks the limiter and the subject of an override. Throws `HEADGATE_INVALID_OPTION`. */
export function readOverrideKey({ limiter, subject }: OverrideKey): OverrideKey {
  if (typeof limiter !== "string" || limiter === "" || limiter.length > 512) {
    throw invalidValue("limiter must be the name of a limiter", limiter);
  }
  if (subject === undefined) return { limiter };
  const isRecord =
    isPlainObject(subject) &&
    Object.keys(subject).length > 0 &&
    Object.values(subject).every((text) => typeof text === "string" && text !== "");
  if (!isRecord) {
    throw invalidOption(
      `subject must be a string for each dimension, as in { default: "..." }; got ${formatKind(subject)}`,
    );
  }
  requireShortSubject(subject);
  return { limiter, subject };
}

/** Checks an override, as far as possible without the limiter's policy. Throws `HEADGATE_INVALID_OPTION`. */
export function readOverride(override: NewOverride): NewOverride {
  rejectUnknownOptions("setOverride", override, ["limiter", "subject", "limits", "shadow"]);
  const { limits, shadow } = override;
  if (limits === undefined && shadow === undefined) {
    throw invalidOption("an override has limits, shadow, or both");
  }
  readBoolean("shadow", shadow);
  if (limits !== undefined) requireLimitOverrides(limits);
  const read = { ...readOverrideKey(override), limits, shadow };
  const { length } = JSON.stringify(read);
  if (length <= MAX_OVERRIDE_CHARACTERS) return read;
  throw invalidOption(
    `an override must have at most ${MAX_OVERRIDE_CHARACTERS} characters as JSON, got ${length}`,
  );
}

function requireLimitOverrides(limits: unknown): void {
  if (!isPlainObject(limits) || Object.keys(limits).length === 0) {
    throw invalidOption(
      `limits must be numbers by the name of a limit, as in { "100-per-1m": { limit: 50 } }; got ${formatReceived(limits)}`,
    );
  }
  for (const [name, numbers] of Object.entries(limits)) {
    rejectUnknownOptions(`limits ${formatReceived(name)}`, numbers, LIMIT_OVERRIDE_FIELDS);
    const given = Object.entries(numbers as object).filter(([, number]) => number !== undefined);
    if (given.length === 0) {
      throw invalidOption(`limits ${formatReceived(name)}: no number is given`);
    }
    for (const [what, number] of given) {
      const least = what === "limit" || what === "capacity" ? 0 : 1;
      if (Number.isSafeInteger(number) && number >= least && number <= MAX_COUNT) continue;
      throw invalidOption(
        `limits ${formatReceived(name)}: ${what} must be a whole number from ${least} to ${MAX_COUNT}, got ${formatReceived(number)}${hintForLargeCount(number, MAX_COUNT)}`,
      );
    }
  }
}
