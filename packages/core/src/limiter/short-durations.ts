import { shareInProcess } from "../common/client-state.ts";
import type { HeadgateErrorCode } from "../common/errors.ts";
import { emitWarning } from "../common/operator-log.ts";
import type { Limit } from "../common/policy.ts";
import { isPlainObject } from "../common/type-guards.ts";

/** A bare number below this is more likely in seconds, as in other limiters. */
const SHORT_DURATION_MS = 1_000;

/** The options of limits that are durations. */
const DURATIONS = ["window", "every", "ttl"] as const;

/** Whether the process was warned. */
export const shortDurationWarning: () => { areWarnedOf: boolean } = shareInProcess(
  "shortDurations",
  () => ({
    areWarnedOf: false,
  }),
);

/** Warns once per process about a duration given as a bare number below 1,000, which means milliseconds. */
export function warnAboutShortDuration(limits: readonly Limit[]): void {
  const warned = shortDurationWarning();
  if (warned.areWarnedOf) return;
  for (const limit of limits) {
    const found = findShort(limit);
    if (found === undefined) continue;
    warned.areWarnedOf = true;
    const [option, ms] = found;
    emitWarning(
      "HEADGATE_DURATION_WITHOUT_UNIT" satisfies HeadgateErrorCode,
      `${limit.algorithm}: ${option}: ${ms} is ${ms} milliseconds. If you mean seconds, write "${ms}s"; if you mean milliseconds, write "${ms}ms", and this warning ends`,
    );
    return;
  }
}

function findShort(limit: Limit): readonly [option: string, ms: number] | undefined {
  const values = limit as unknown as Readonly<Record<string, unknown>>;
  for (const option of DURATIONS) {
    const value = values[option];
    if (typeof value === "number" && value < SHORT_DURATION_MS) return [option, value];
  }
  const { block } = values;
  const spans = isPlainObject(block) ? block["for"] : block;
  const blocks = [spans].flat().filter((span) => typeof span === "number");
  const short = blocks.find((ms) => ms < SHORT_DURATION_MS);
  return short === undefined ? undefined : ["block", short];
}
