import type { Override, OverrideCoverage } from "@headgate/core/admin";
import { formatOverride } from "@headgate/core/admin";
import { isPlainObject } from "../access/plain-object.ts";
import { endMs, formatEnd } from "./time.ts";

/** The changes of an override and its end, as text. The log may contain any value. */
export function describeOverride(override: unknown): string {
  const { until } = (isPlainObject(override) ? override : {}) as Partial<Override>;
  const isKnown = until === null || (typeof until === "number" && until >= 0);
  return isKnown
    ? `${formatOverride(override)}, ${formatEnd(endMs(until))}`
    : formatOverride(override);
}

/** The reasons why processes ignore an override, one text each. */
export function formatIgnoredReasons({
  ignored,
  unknownProcesses,
}: OverrideCoverage): readonly string[] {
  const reasons = ignored.map(({ reason, processes }) =>
    processes === 0 ? reason : `${reason} (in ${formatProcessCount(processes)})`,
  );
  return unknownProcesses === 0
    ? reasons
    : [...reasons, `not known of ${formatProcessCount(unknownProcesses)}`];
}

function formatProcessCount(processes: number): string {
  return `${processes} process${processes === 1 ? "" : "es"}`;
}
