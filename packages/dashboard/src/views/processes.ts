import type { RegistryProcess, UsageCoverage } from "@headgate/core/admin";
import type { ProcessSummary } from "../api.ts";

/** The processes of the registry, and when each last reported usage. */
export function toProcessSummaries(
  processes: readonly RegistryProcess[],
  { reporting, silent }: UsageCoverage,
): readonly ProcessSummary[] {
  const reports = new Map([...reporting, ...silent].map((one) => [one.id, one.at]));
  const silentIds = new Set(silent.map(({ id }) => id));
  return processes.map(({ id, host, pid, startedAt, seenAt, version, more }) => ({
    ...{ id, host, pid, startedAt, seenAt, version },
    unlistedCount: more,
    reportedAt: reports.get(id) ?? null,
    isSilent: silentIds.has(id),
  }));
}
