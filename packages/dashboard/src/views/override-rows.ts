import type { Directory, LogEntry, Override } from "@headgate/core/operate";
import { reachOf } from "@headgate/core/operate";
import type { OverrideRow } from "../api.ts";
import { textOf } from "../words/change.ts";
import { formatIgnored, formatOverride } from "../words/override.ts";
import { endMs, toMs } from "../words/time.ts";

/** Overrides with the processes that apply them and, from the log, who set them and why. */
export function viewOverrides(
  overrides: readonly Override[],
  directory: Directory,
  log: readonly LogEntry[],
): readonly OverrideRow[] {
  const setBy = new Map<string, LogEntry>();
  for (const entry of log.toReversed()) {
    if (entry.kind === "setOverride") setBy.set(placeOf(entry.limiter ?? "", entry.subject), entry);
  }
  return overrides.map((override): OverrideRow => {
    const { limiter, subject, limits, from, until } = override;
    const reach = reachOf(override, directory);
    const place = placeOf(limiter, subject);
    const { by, reason } = setBy.get(place) ?? {};
    return {
      id: place,
      limiter,
      subject,
      what: formatOverride(override),
      limits: limits as OverrideRow["limits"],
      from: toMs(from),
      until: endMs(until),
      by: textOf(by),
      reason: textOf(reason),
      setAs: "hand",
      reach: reach.state,
      appliedBy: reach.appliedBy,
      ignored: formatIgnored(reach),
    };
  });
}

/** Equal for the same limiter and subject. */
function placeOf(limiter: string, subject: Readonly<Record<string, string>> | undefined): string {
  return JSON.stringify([limiter, subject === undefined ? null : Object.entries(subject).sort()]);
}
