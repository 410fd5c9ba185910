import type {
  LimiterUsage,
  LimiterUsageSummary,
  Override,
  OverrideCoverage,
  Registry,
  UsageCoverage,
  UsageSeries,
  UsageSummary,
} from "@headgate/core/admin";
import { overrideCoverageOf, policyVersionsOf } from "@headgate/core/admin";
import { groupBy, isInShadow } from "@headgate/core/internal";
import type { LimiterSummary, Overview } from "../api.ts";
import type { Span } from "../counts.ts";
import { NO_DECISIONS, SPAN_MS, sumCounts } from "../counts.ts";
import type { FleetReader, TimedControl } from "../fleet-reader.ts";
import { describeLimit } from "../format/policy.ts";
import { formatIgnoredReasons } from "../format/state.ts";
import { loadBlockRows } from "./control.ts";
import { toTopSubjectRow } from "./limiter.ts";
import {
  countDeniedAsAllowed,
  coverageOf,
  lastMinuteOf,
  mergeSeries,
  pointsOf,
  SPARKLINE_STEP_MS,
  STEP_MS,
  toProcessSummaries,
} from "./usage-series.ts";

/** The maximum number of limiters with a sparkline: those with the most denials. */
const MAX_SPARKLINES = 100;

/** The most limiters whose denied clients an overview lists: those with the most denials. */
const MAX_DENIED_LIMITERS = 5;

/** The most denied clients in an overview. */
const MAX_DENIED_CLIENTS = 10;

/** The span that fits the stored decisions: the shortest with all of them, or else an hour, if it has any. */
export async function chooseSpan(reader: FleetReader): Promise<Span> {
  for (const span of ["1h", "24h", "30d"] as const) {
    const { at, limiters } = await reader.loadUsage(span);
    // In chronological order. Every request without a span comes here, so the steps are not merged for it.
    const starts = limiters.flatMap(({ minutes, hours }) => (minutes[0] ?? hours[0])?.from ?? []);
    const first = Math.min(...starts);
    if (first === Number.POSITIVE_INFINITY) continue;
    return span === "1h" && first > at - SPAN_MS["15m"] ? "15m" : span;
  }
  return "1h";
}

/** The data of an overview. */
export interface OverviewData {
  readonly span: Span;
  readonly usage: UsageSummary;
  readonly registry: Registry;
  readonly control: TimedControl;
  readonly blocks: Awaited<ReturnType<typeof loadBlockRows>>;
  readonly reports: UsageCoverage;
  /** Of the limiters with the most denials; null if their subjects could not be read. */
  readonly denied: readonly LimiterUsage[] | null;
}

export async function loadOverviewData(reader: FleetReader, span: Span): Promise<OverviewData> {
  const [usage, registry, control, blocks, reports] = await Promise.all([
    reader.loadUsage(span),
    reader.loadRegistry(),
    reader.loadControl(),
    loadBlockRows(reader),
    reader.loadCoverage(),
  ]);
  const most = summarise(usage.limiters, registry, control, span)
    .filter(({ shadow, totals }) => !shadow && totals.denied > 0)
    .slice(0, MAX_DENIED_LIMITERS);
  // Most of the overview's reading is for these subjects: while Redis is slow, the rest is shown without them.
  const denied = await Promise.all(most.map(({ name }) => reader.loadDenied(name, span))).then(
    (found) => found.flat(),
    () => null,
  );
  return { span, usage, registry, control, blocks, reports, denied };
}

/** All limiters of the prefix that the visitor may see. */
export function buildOverview({
  span,
  usage,
  registry,
  control,
  blocks,
  reports,
  denied,
}: OverviewData): Overview {
  const { others } = usage;
  const summaries = summarise(usage.limiters, registry, control, span);
  const overrides = control.record.overrides.map(
    (override): CoveredOverride => ({
      override,
      coverage: overrideCoverageOf(override, registry),
    }),
  );
  return {
    at: usage.at,
    span,
    store: { latencyMs: control.latencyMs },
    stepMs: STEP_MS[span],
    ...decisionsOf(usage, summaries, span),
    sparklineStepMs: SPARKLINE_STEP_MS[span],
    limiters: summaries,
    others: others?.total ?? null,
    denied: denied && mostDenied(denied),
    deniedFrom: Math.min(usage.at, ...(denied ?? []).map(({ subjects }) => subjects.from)),
    processes: toProcessSummaries(registry.processes, reports),
    mixedVersions: mixedVersionsOf(registry),
    ignoredOverrides: ignoredOverridesOf(overrides),
    active: {
      overrides: overrides.filter(({ coverage }) => coverage.state !== "ignored").length,
      blocks: blocks.rows.length,
      denyListEntries: control.record.denyList?.length ?? 0,
      hasAllBlocks: blocks.isComplete,
    },
    coverage: coverageOf(usage, span, registry.processes, reports),
    unreadable: usage.unreadable.length + registry.unreadable.length,
  };
}

/**
 * The decisions of all limiters, where denials in shadow mode count as allowed; and separately the decisions of the limiters in
 * shadow mode.
 */
function decisionsOf(
  { at, limiters, others }: UsageSummary,
  summaries: readonly LimiterSummary[],
  span: Span,
): Pick<Overview, "totals" | "series" | "lastMinute" | "shadow"> {
  const names = new Set(summaries.filter(({ shadow }) => shadow).map(({ name }) => name));
  const seriesOf = (one: UsageSeries, isInShadow: boolean) => ({
    isInShadow,
    total: one.total,
    points: pointsOf(one, span),
    lastMinute: lastMinuteOf(one, at),
  });
  const all = [
    ...limiters.map((one) => seriesOf(one, names.has(one.name))),
    ...(others === undefined ? [] : [seriesOf(others, false)]),
  ];
  const inShadow = all.filter((one) => one.isInShadow);
  const effective = all.map((one) =>
    one.isInShadow
      ? {
          total: countDeniedAsAllowed(one.total),
          points: one.points.map(countDeniedAsAllowed),
          lastMinute: countDeniedAsAllowed(one.lastMinute),
        }
      : one,
  );
  const sumTotals = (some: readonly Pick<(typeof all)[number], "total" | "lastMinute">[]) => ({
    totals: sumCounts(some.map(({ total }) => total)),
    lastMinute: sumCounts(some.map(({ lastMinute }) => lastMinute)),
  });
  const series = mergeSeries(
    effective.map(({ points }) => points),
    STEP_MS[span],
  );
  return { ...sumTotals(effective), series, shadow: sumTotals(inShadow) };
}

/** The subjects with the most denials in any of some limiters. */
function mostDenied(limiters: readonly LimiterUsage[]): NonNullable<Overview["denied"]> {
  return limiters
    .flatMap(({ name, subjects }) =>
      subjects.denied.top.map((one) => ({ limiter: name, ...toTopSubjectRow(one) })),
    )
    .sort((one, other) => other.count - one.count)
    .slice(0, MAX_DENIED_CLIENTS);
}

/** The limiters with usage or in the registry: the most denied first, those in shadow mode last. */
function summarise(
  usages: readonly LimiterUsageSummary[],
  registry: Registry,
  { record }: TimedControl,
  span: Span,
): readonly LimiterSummary[] {
  const used = new Map(usages.map((one) => [one.name, one]));
  const listed = groupBy(policyVersionsOf(registry), ({ name }) => name);
  const names = new Set([...used.keys(), ...listed.keys()]);
  const overrides = groupBy(record.overrides, ({ limiter }) => limiter);
  const sorted = [...names]
    .map((name) => ({
      name,
      totals: used.get(name)?.total ?? NO_DECISIONS,
      shadow: isInShadow(name, listed.get(name) ?? [], record.overrides),
    }))
    .sort(
      (one, other) =>
        Number(one.shadow) - Number(other.shadow) ||
        other.totals.denied - one.totals.denied ||
        other.totals.allowed - one.totals.allowed ||
        (one.name < other.name ? -1 : 1),
    );
  return sorted.map(({ name, totals, shadow }, i): LimiterSummary => {
    const usage = i < MAX_SPARKLINES ? used.get(name) : undefined;
    const records = listed.get(name) ?? [];
    return {
      name,
      totals,
      series:
        usage === undefined ? [] : mergeSeries([pointsOf(usage, span)], SPARKLINE_STEP_MS[span]),
      limits: records[0]?.limits.map(describeLimit) ?? [],
      versions: records.length,
      processes: new Set(records.flatMap(({ processes }) => processes)).size,
      shadow,
      overrides: overrides.get(name)?.length ?? 0,
    };
  });
}

function mixedVersionsOf(registry: Registry): Overview["mixedVersions"] {
  return [...groupBy(policyVersionsOf(registry), ({ name }) => name)]
    .filter(([, versions]) => versions.length > 1)
    .map(([name, versions]) => ({ name, versions: versions.length }));
}

interface CoveredOverride {
  readonly override: Override;
  readonly coverage: OverrideCoverage;
}

function ignoredOverridesOf(overrides: readonly CoveredOverride[]): Overview["ignoredOverrides"] {
  return overrides
    .filter(({ coverage }) => coverage.state === "ignored" || coverage.state === "partial")
    .map(({ override: { limiter, subject }, coverage }) => ({
      limiter,
      subject,
      why: formatIgnoredReasons(coverage).join("; "),
    }));
}
