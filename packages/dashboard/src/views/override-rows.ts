import { toMilliseconds } from "@headgate/core/internal";
import type { LogEntry, Override, Registry } from "@headgate/core/operate";
import { formatOverride, formatOverrideKey, overrideCoverageOf } from "@headgate/core/operate";
import type { OverrideRow } from "../api.ts";
import { textOf } from "../format/change.ts";
import { formatIgnored } from "../format/override.ts";
import { endMs } from "../format/time.ts";
import { newestEntries } from "./newest-entries.ts";

/** Overrides with the processes that apply them and, from the log, who set them and why. */
export function viewOverrides(
  overrides: readonly Override[],
  registry: Registry,
  log: readonly LogEntry[],
): readonly OverrideRow[] {
  const setBy = newestEntries(log, "setOverride");
  return overrides.map((override): OverrideRow => {
    const { limiter, subject, from, until } = override;
    const reach = overrideCoverageOf(override, registry);
    const { by, reason } = setBy(limiter, subject) ?? {};
    return {
      id: formatOverrideKey(override),
      limiter,
      subject,
      what: formatOverride(override),
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
