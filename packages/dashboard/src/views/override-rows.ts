import { toMilliseconds } from "@headgate/core/internal";
import type { Directory, LogEntry, Override } from "@headgate/core/operate";
import { formatKey, overrideCoverageOf, overrideInWords } from "@headgate/core/operate";
import type { OverrideRow } from "../api.ts";
import { textOf } from "../format/change.ts";
import { formatIgnored } from "../format/override.ts";
import { endMs } from "../format/time.ts";
import { newestEntries } from "./newest-entries.ts";

/** Overrides with the processes that apply them and, from the log, who set them and why. */
export function viewOverrides(
  overrides: readonly Override[],
  directory: Directory,
  log: readonly LogEntry[],
): readonly OverrideRow[] {
  const setBy = newestEntries(log, "setOverride");
  return overrides.map((override): OverrideRow => {
    const { limiter, subject, from, until } = override;
    const reach = overrideCoverageOf(override, directory);
    const { by, reason } = setBy(limiter, subject) ?? {};
    return {
      id: formatKey(override),
      limiter,
      subject,
      what: overrideInWords(override),
      from: toMilliseconds(from),
      until: endMs(until),
      by: textOf(by),
      reason: textOf(reason),
      reach: reach.state,
      appliedBy: reach.appliedBy,
      ignored: formatIgnored(reach),
    };
  });
}
