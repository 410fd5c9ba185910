import type {
  RegistryProcess,
  UsageCoverage,
  UsageSeries,
  UsageSummary,
} from "@headgate/core/admin";
import type { ProcessSummary } from "../api.ts";
import type { Counts, Coverage, Point, Span } from "../counts.ts";
import { addCounts, NO_DECISIONS, REPORT_DELAY_MS, SPAN_MS, sumCounts } from "../counts.ts";

/** The length of a step of a series, in milliseconds. */
export const STEP_MS: Readonly<Record<Span, number>> = {
  "15m": 10_000,
  "1h": 60_000,
  "24h": 600_000,
  "30d": 3_600_000,
};

/** The length of a step of a limiter's sparkline, in milliseconds. */
export const SPARKLINE_STEP_MS: Readonly<Record<Span, number>> = {
  "15m": 20_000,
  "1h": 60_000,
  "24h": 1_800_000,
  "30d": 43_200_000,
};

/** The length of a step of the last minutes, in milliseconds. */
const SHORT_STEP_MS = 10_000;

/** The steps of a series in a span. */
export function pointsOf(
  { tenSeconds, minutes, hours }: UsageSeries,
  span: Span,
): readonly Point[] {
  const steps = span === "15m" ? tenSeconds : span === "30d" ? hours : minutes;
  const points = steps.map(({ from, ...counts }) => ({
    at: from,
    ...counts,
  }));
  return mergeSeries([points], STEP_MS[span]);
}

/** The decisions of the last minute that all processes have reported. */
export function lastMinuteOf(series: Pick<UsageSeries, "tenSeconds">, at: number): Counts {
  const end = Math.floor((at - REPORT_DELAY_MS) / SHORT_STEP_MS) * SHORT_STEP_MS;
  return sumCounts(series.tenSeconds.filter(({ from }) => from >= end - 60_000 && from < end));
}

/** The sum of several series, in steps of a given length. */
export function mergeSeries(
  series: readonly (readonly Point[])[],
  stepMs: number,
): readonly Point[] {
  const steps = new Map<number, Point>();
  for (const point of series.flat()) {
    const at = Math.floor(point.at / stepMs) * stepMs;
    const before = steps.get(at) ?? { at, ...NO_DECISIONS };
    steps.set(at, { at, ...addCounts(before, point) });
  }
  return [...steps.values()].sort((one, other) => one.at - other.at);
}

/** The counts of a limiter in shadow mode, with denials counted as allowed. */
export function countDeniedAsAllowed<Some extends Counts>(counts: Some): Some {
  return { ...counts, allowed: counts.allowed + counts.denied, denied: 0 };
}

/** The part of a span and of the fleet that the counts cover. */
export function coverageOf(
  { at }: UsageSummary,
  span: Span,
  processes: readonly Pick<RegistryProcess, "id">[],
  { silent }: UsageCoverage,
): Coverage {
  const ids = new Set(processes.map(({ id }) => id));
  return {
    from: at - SPAN_MS[span],
    processes: processes.length,
    silentProcesses: silent.filter(({ id }) => ids.has(id)).length,
  };
}

/** The processes of the registry, and when each last reported usage. */
export function toProcessSummaries(
  processes: readonly RegistryProcess[],
  { reporting, silent }: UsageCoverage,
): readonly ProcessSummary[] {
  const reports = new Map([...reporting, ...silent].map((one) => [one.id, one.at]));
  const silentIds = new Set(silent.map(({ id }) => id));
  return processes.map(({ id, host, pid, startedAt, seenAt, version, more, details }) => ({
    ...{ id, host, pid, startedAt, seenAt, version },
    details: details ?? null,
    unlistedCount: more,
    reportedAt: reports.get(id) ?? null,
    isSilent: silentIds.has(id),
  }));
}
