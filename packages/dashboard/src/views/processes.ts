import type { RegistryProcess, UsageCoverage } from "@headgate/core/admin";
import type { ProcessSummary } from "../api.ts";

/** Processes of the directory, and when each reported usage last. */
export function toProcessSummaries(
  processes: readonly RegistryProcess[],
  { reporting, silent }: UsageCoverage,
): readonly ProcessSummary[] {
  const reports = new Map([...reporting, ...silent].map((one) => [one.id, one.at]));
  const isSilent = new Set(silent.map(({ id }) => id));
  return processes.map(({ id, host, pid, startedAt, seenAt, version, more }) => ({
    ...{ id, host, pid, startedAt, seenAt, version, more },
    reportedAt: reports.get(id) ?? null,
    silent: isSilent.has(id),
  }));
}
