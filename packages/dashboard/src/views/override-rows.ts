import type { LogEntry, Override, Registry } from "@headgate/core/admin";
import { formatOverride, formatOverrideKey, overrideCoverageOf } from "@headgate/core/admin";
import { toMilliseconds } from "@headgate/core/internal";
import type { OverrideRow } from "../api.ts";
import { textOf } from "../format/change.ts";
import { formatIgnoredReasons } from "../format/override.ts";
import { endMs } from "../format/time.ts";
import { indexNewestEntries } from "./newest-entries.ts";

/** Overrides with the processes that apply them and, from the log, who set them and why. */
export function toOverrideRows(
  overrides: readonly Override[],
  registry: Registry,
  log: readonly LogEntry[],
): readonly OverrideRow[] {
  const newestSetEntry = indexNewestEntries(log, "setOverride");
  return overrides.map((override): OverrideRow => {
    const { limiter, subject, from, until } = override;
    const coverage = overrideCoverageOf(override, registry);
    const { by, reason } = newestSetEntry(limiter, subject) ?? {};
    return {
      id: formatOverrideKey(override),
      limiter,
      subject,
      change: formatOverride(override),
      from: toMilliseconds(from),
      until: endMs(until),
      by: textOf(by),
      reason: textOf(reason),
      coverage: coverage.state,
      appliedBy: coverage.applyingProcesses,
      ignoredReasons: formatIgnoredReasons(coverage),
    };
  });
}
