import type { Override, OverrideCoverage } from "@headgate/core/operate";
import { formatOverride } from "@headgate/core/operate";
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
export function formatIgnored({ ignored, unknownTo }: OverrideCoverage): readonly string[] {
  const misfits = ignored.map(({ why, processes }) =>
    processes === 0 ? why : `${why} (in ${countOf(processes)})`,
  );
  return unknownTo === 0 ? misfits : [...misfits, `not known of ${countOf(unknownTo)}`];
}

function countOf(processes: number): string {
  return `${processes} process${processes === 1 ? "" : "es"}`;
}
