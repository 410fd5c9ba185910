import type {
  LimiterView,
  Overview,
  PolicyView,
  ProcessSummary,
  Session,
  TopSubjectRow,
} from "../../../../packages/dashboard/src/api.ts";
import { ACTIONS } from "../../../../packages/dashboard/src/api.ts";
import type { Coverage, Span } from "../../../../packages/dashboard/src/counts.ts";
import { SPAN_MS, sumCounts } from "../../../../packages/dashboard/src/counts.ts";
import {
  countDeniedAsAllowed,
  mergeSeries,
  SPARKLINE_STEP_MS,
  STEP_MS,
} from "../../../../packages/dashboard/src/views/usage-series.ts";
import { blocksAt, deniedAt, overridesAt } from "./control.ts";
import type { DemoLimiter } from "./limiters.ts";
import { LIMITERS } from "./limiters.ts";
import { lastMinuteOf, seriesOf } from "./traffic.ts";

export const SESSION: Session = {
  by: "ann@example.com",
  actions: ACTIONS,
  prefix: "shop:",
  title: "Example shop",
  pollMs: 5_000,
  hasDoctor: true,
  runbook: "https://wiki.example.com/runbooks/redis",
};

function processesAt(at: number): readonly ProcessSummary[] {
  return ["web-1", "web-2", "web-3", "web-4", "worker-1", "worker-2"].map((host, i) => ({
    id: `p${i}`,
    host: `${host}.fra.example.com`,
    pid: 11 + i * 7,
    startedAt: at - (i < 4 ? 26 : 190) * 3_600_000 - i * 41_000,
    seenAt: at - 1_000 * (i + 2),
    version: i < 4 ? "1.0.0" : "0.9.4",
    unlistedCount: 0,
    reportedAt: i === 5 ? at - 190_000 : at - 1_300 * (i + 1),
    isSilent: i === 5,
    details: null,
  }));
}

function coverageOf(span: Span, at: number): Coverage {
  const length = span === "30d" ? 19 * 86_400_000 : SPAN_MS[span];
  return { from: at - length, processes: 6, silentProcesses: 1 };
}

/** Lists of subjects are kept per ten minutes, so they begin before the span. */
function topSubjectsFrom(at: number, span: Span): number {
  return at - Math.min(SPAN_MS[span], 86_400_000) - 240_000;
}

export function overviewAt(at: number, span: Span): Overview {
  const all = LIMITERS.map(({ traffic, shadow = false }, i) => ({
    isInShadow: shadow,
    points: seriesOf(traffic, span, at, i + 1),
    lastMinute: lastMinuteOf(traffic, at, i + 1),
  }));
  const limiters = LIMITERS.map((one, i) => {
    const points = all[i]?.points ?? [];
    return {
      name: one.name,
      totals: sumCounts(points),
      series: mergeSeries([points], SPARKLINE_STEP_MS[span]),
      limits: one.limits.map(({ name, description }) => `${name}: ${description}`),
      versions: one.name === "search" ? 2 : 1,
      processes: 6,
      shadow: one.shadow ?? false,
      overrides: overridesAt(at).filter(({ limiter }) => limiter === one.name).length,
    };
  }).sort((a, b) => Number(a.shadow) - Number(b.shadow) || b.totals.denied - a.totals.denied);
  const inShadow = all.filter(({ isInShadow }) => isInShadow);
  const effective = all.map((one) =>
    one.isInShadow
      ? {
          points: one.points.map(countDeniedAsAllowed),
          lastMinute: one.lastMinute.map(countDeniedAsAllowed),
        }
      : one,
  );
  const sums = (some: typeof effective) => ({
    totals: sumCounts(some.flatMap(({ points }) => points)),
    lastMinute: sumCounts(some.flatMap(({ lastMinute }) => lastMinute)),
  });
  return {
    at,
    span,
    store: { latencyMs: 0.42 },
    ...sums(effective),
    stepMs: STEP_MS[span],
    series: mergeSeries(
      effective.map(({ points }) => points),
      STEP_MS[span],
    ),
    shadow: sums(inShadow),
    sparklineStepMs: SPARKLINE_STEP_MS[span],
    limiters,
    others: null,
    denied: LIMITERS.filter(({ shadow }) => shadow !== true)
      .flatMap(({ name }) =>
        (limiterAt(at, name, span)?.denied ?? []).map((row) => ({ limiter: name, ...row })),
      )
      .sort((a, b) => b.count - a.count)
      .slice(0, 10),
    deniedFrom: topSubjectsFrom(at, span),
    processes: processesAt(at),
    mixedVersions: [{ name: "search", versions: 2 }],
    ignoredOverrides: [
      { limiter: "checkout", why: "it names the limit per-card, which checkout does not have" },
    ],
    active: {
      overrides: overridesAt(at).filter(({ coverage }) => coverage !== "ignored").length,
      blocks: blocksAt(at).length,
      denyListEntries: deniedAt(at).length,
      hasAllBlocks: true,
    },
    coverage: coverageOf(span, at),
    unreadable: 0,
  };
}

export function limiterAt(at: number, name: string, span: Span): LimiterView | undefined {
  const found = LIMITERS.findIndex((one) => one.name === name);
  const one = LIMITERS[found];
  if (one === undefined) return undefined;
  const series = seriesOf(one.traffic, span, at, found + 1);
  const totals = sumCounts(series);
  // Subjects are kept for a day.
  const dayTotals =
    span === "30d" ? sumCounts(seriesOf(one.traffic, "24h", at, found + 1)) : totals;
  const top = (rows: DemoLimiter["denied"], all: number): readonly TopSubjectRow[] =>
    rows.map(([subject, share], i) => ({
      dimension: one.dimension ?? "default",
      subject: i === 4 ? null : subject,
      hash: i === 4 ? "k3Xq9vYw1rT0aZbC" : null,
      count: Math.round(all * share),
      maxError: i === 3 ? 12 : 0,
    }));
  return {
    at,
    span,
    name,
    shadow: one.shadow ?? false,
    policies: policiesOf(one),
    versionNotes: one.name === "search" ? VERSION_NOTES : [],
    totals,
    stepMs: STEP_MS[span],
    series,
    lastMinute: sumCounts(lastMinuteOf(one.traffic, at, found + 1)),
    denials: denialsOf(one, totals.denied),
    denialsFrom:
      span === "30d" ? at - (at % 86_400_000) - SPAN_MS[span] : topSubjectsFrom(at, span),
    used: top(one.used, dayTotals.allowed + dayTotals.denied),
    denied: top(one.denied, dayTotals.denied),
    topSubjectsFrom: topSubjectsFrom(at, span),
    topSubjectsTotals: dayTotals,
    overrides: overridesAt(at).filter(({ limiter }) => limiter === name),
    processes: processesAt(at),
    coverage: coverageOf(span, at),
    unreadable: 0,
  };
}

/** Denials by limit; processes have not yet reported those of the last half minute. */
function denialsOf({ limits, traffic }: DemoLimiter, all: number): LimiterView["denials"] {
  const unknown = Math.min(all, Math.round((traffic.attackRate ?? 0) * 14));
  return [
    ...limits
      .map(({ name: limit, denialShare }) => ({
        cause: { kind: "limit" as const, limit },
        denied: Math.round((all - unknown) * denialShare),
      }))
      .sort((a, b) => b.denied - a.denied),
    { cause: { kind: "unknown" as const }, denied: unknown },
  ].filter(({ denied }) => denied > 0);
}

const VERSION_NOTES: readonly string[] = [
  "The versions differ in their limits.",
  "They count separately, so a client may use up the limits of each.",
  "Each version started after the one before, as in a deploy: this ends when the last process with an old version stops.",
];

function policiesOf(one: DemoLimiter): readonly PolicyView[] {
  const all = ["p0", "p1", "p2", "p3", "p4", "p5"];
  const policy: PolicyView = {
    limits: one.limits.map(({ name, description }) => `${name}: ${description}`),
    code: one.limits.map(({ code }) => code).join(",\n"),
    numbers: Object.fromEntries(one.limits.map(({ name, numbers }) => [name, numbers])),
    processes: one.name === "search" ? all.slice(0, 4) : all,
    shadow: one.shadow ?? false,
    uses: [one.uses],
  };
  if (one.name !== "search") return [policy];
  const old: PolicyView = {
    ...policy,
    limits: ["10-per-1s: 10 per second for each client (gcra)"],
    code: `gcra({ limit: 10, window: "1s" })`,
    numbers: { "10-per-1s": { limit: 10 } },
    processes: all.slice(4),
  };
  return [old, policy];
}
