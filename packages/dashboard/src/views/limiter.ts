import type { LimiterUsage, Registry, RegistryLimiter, TopSubject } from "@headgate/core/admin";
import { explainVersions, formatPolicy, policyVersionsOf } from "@headgate/core/admin";
import { isInShadow } from "@headgate/core/internal";
import type { DenialCount, LimiterView, PolicyView, TopSubjectRow } from "../api.ts";
import type { Span } from "../counts.ts";
import { NO_DECISIONS, sumCounts } from "../counts.ts";
import type { FleetReader } from "../fleet-reader.ts";
import {
  describeLimit,
  formatHttpUse,
  namedLimitsOf,
  overridableNumbers,
} from "../format/policy.ts";
import { unknownLimiter } from "../serve/http-error.ts";
import { toOverrideRows } from "./control.ts";
import { coverageOf, lastMinuteOf, pointsOf, STEP_MS, toProcessSummaries } from "./usage-series.ts";

/** One limiter: its policies, its decisions, and their subjects. Rejects with an `HttpError` for an unknown limiter. */
export async function buildLimiterView(
  reader: FleetReader,
  name: string,
  span: Span,
): Promise<LimiterView> {
  if (!(await isKnown(reader, name, span))) throw unknownLimiter();
  const [usage, minutes, registry, control, log, reports] = await Promise.all([
    reader.loadLimiterUsage(name, span),
    reader.loadMinutes(name, span),
    reader.loadRegistry(),
    reader.loadControl(),
    reader.loadLog(),
    reader.loadCoverage(),
  ]);
  const records = registry.limiters.filter((one) => one.name === name);
  const own = usage.limiters.find((one) => one.name === name);
  if (records.length === 0 && own === undefined) throw unknownLimiter();
  const totals = own?.total ?? NO_DECISIONS;
  const topSubjectsFrom = own?.subjects.from ?? usage.at;
  const topSubjectsTotals = sumCounts(minutes.filter(({ from }) => from >= topSubjectsFrom));
  const overrides = control.record.overrides.filter(({ limiter }) => limiter === name);
  const ids = new Set(records.flatMap(({ processes }) => processes));
  const processes = registry.processes.filter(({ id }) => ids.has(id));
  return {
    at: usage.at,
    span,
    name,
    shadow: isInShadow(name, records, control.record.overrides),
    ...policiesOf(name, registry),
    totals,
    stepMs: STEP_MS[span],
    series: own === undefined ? [] : pointsOf(own, span),
    lastMinute: own === undefined ? NO_DECISIONS : lastMinuteOf(own, usage.at),
    denials: denialsByCause(own, (span === "30d" ? totals : topSubjectsTotals).denied),
    denialsFrom: own?.limits.from ?? usage.at,
    used: own?.subjects.used.top.map(toTopSubjectRow) ?? [],
    denied: own?.subjects.denied.top.map(toTopSubjectRow) ?? [],
    topSubjectsFrom,
    topSubjectsTotals,
    overrides: toOverrideRows(overrides, registry, log.entries),
    processes: toProcessSummaries(processes, reports),
    coverage: coverageOf(usage, span, processes, reports),
    unreadable: usage.unreadable.length + registry.unreadable.length,
  };
}

/** Whether a limiter may have this name, according to cached data of other views, so that guessing names costs Redis nothing. */
async function isKnown(reader: FleetReader, name: string, span: Span): Promise<boolean> {
  const isOf = (one: { readonly name: string }): boolean => one.name === name;
  const { limiters } = await reader.loadRegistry();
  if (limiters.some(isOf)) return true;
  const usage = await reader.loadUsage(span);
  return usage.limiters.some(isOf) || usage.others !== undefined;
}

/** Denials by limit, by blocks, and by the limits whose names are not stored; and the rest of all denials, of an unknown cause. */
function denialsByCause(usage: LimiterUsage | undefined, all: number): readonly DenialCount[] {
  if (usage === undefined) return [];
  const { byLimit, byBlock, more } = usage.limits;
  const rows: DenialCount[] = [
    ...byLimit.map(
      ({ limit, denied }): DenialCount => ({ cause: { kind: "limit", limit }, denied }),
    ),
    { cause: { kind: "block" }, denied: byBlock },
    { cause: { kind: "otherLimits" }, denied: more },
  ];
  const unknown = all - rows.reduce((sum, { denied }) => sum + denied, 0);
  return [
    ...rows.sort((one, other) => other.denied - one.denied),
    { cause: { kind: "unknown" } as const, denied: unknown },
  ].filter(({ denied }) => denied > 0);
}

/** Each version of the policy with its processes, and why there are several. */
function policiesOf(
  name: string,
  registry: Registry,
): Pick<LimiterView, "policies" | "versionNotes"> {
  const versions = policyVersionsOf(registry).filter((one) => one.name === name);
  return {
    policies: versions.map(toPolicyView),
    versionNotes: explainVersions(versions, registry.processes),
  };
}

function toPolicyView(version: RegistryLimiter): PolicyView {
  const { limits, shadow, processes, uses } = version;
  const isCut = version.isTruncated === true;
  return {
    limits: isCut ? ["too long to be listed"] : limits.map(describeLimit),
    code: isCut ? "" : formatPolicy(limits),
    numbers: isCut ? {} : numbersOf(version),
    processes,
    shadow,
    extends: version.extends,
    uses: [...new Set(uses.map(formatHttpUse))],
  };
}

function numbersOf(record: RegistryLimiter): PolicyView["numbers"] {
  return Object.fromEntries(
    namedLimitsOf(record).map(([name, limit]) => [name, overridableNumbers(limit)]),
  );
}

/** A subject as a row of a list. */
export function toTopSubjectRow({
  dimension,
  subject,
  hash,
  count,
  error: maxError,
}: TopSubject): TopSubjectRow {
  return { dimension, subject: subject ?? null, hash: hash ?? null, count, maxError };
}
