import type { Override, OverrideCoverage } from "@headgate/core/admin";
import { formatOverride } from "@headgate/core/admin";
import { isPlainObject } from "../access/plain-object.ts";
import { endMs, formatEnd } from "./time.ts";

/** What an override puts in force, and its end. The log may contain any text. */
export function describeOverride(override: unknown): string {
  const { until } = (isPlainObject(override) ? override : {}) as Partial<Override>;
  const isKnown = until === null || (typeof until === "number" && until >= 0);
  return isKnown
    ? `${formatOverride(override)}, ${formatEnd(endMs(until))}`
    : formatOverride(override);
}

/** Why processes ignore an override, one sentence each. */
export function formatIgnoredReasons({ ignored, unknownTo }: OverrideCoverage): readonly string[] {
  const reasons = ignored.map(({ why, processes }) =>
    processes === 0 ? why : `${why} (in ${formatProcessCount(processes)})`,
  );
  return unknownTo === 0 ? reasons : [...reasons, `not known of ${formatProcessCount(unknownTo)}`];
}

function formatProcessCount(processes: number): string {
  return `${processes} process${processes === 1 ? "" : "es"}`;
}
