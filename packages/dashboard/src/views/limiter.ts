import { groupBy, isInShadow } from "@headgate/core/internal";
import type { LimiterUsage, RegistryLimiter, TopSubject } from "@headgate/core/operate";
import { formatPolicy } from "@headgate/core/operate";
import { NOTHING } from "../api/usage.ts";
import type { LimiterView, PolicyView, Span, TopRow } from "../api.ts";
import { formatLimit, numbersOfLimit } from "../format/policy.ts";
import { formatUse } from "../format/use.ts";
import { namedLimits } from "../named-limits.ts";
import type { Reading } from "../reading.ts";
import { unknownLimiter } from "../serve/refusal.ts";
import { viewOverrides } from "./override-rows.ts";
import { viewProcesses } from "./processes.ts";
import { coverageOf, lastMinuteOf, pointsOf, STEP_MS } from "./usage-series.ts";

/** One limiter: its policies, its decisions, and their subjects. Rejects with a `Refusal` if the reading does not have it. */
export async function viewLimiter(
  reading: Reading,
  name: string,
  span: Span,
): Promise<LimiterView> {
  if (!(await isKnown(reading, name, span))) throw unknownLimiter();
  const [usage, registry, control, log, reports] = await Promise.all([
    reading.limiterUsage(name, span),
    reading.directory(),
    reading.control(),
    reading.log(),
    reading.coverage(),
  ]);
  const records = registry.limiters.filter((one) => one.name === name);
  const own = usage.limiters.find((one) => one.name === name);
  if (records.length === 0 && own === undefined) throw unknownLimiter();
  const overrides = control.record.overrides.filter(({ limiter }) => limiter === name);
  const ids = new Set(records.flatMap(({ processes }) => processes));
  const processes = registry.processes.filter(({ id }) => ids.has(id));
  return {
    at: usage.at,
    span,
    name,
    shadow: isInShadow(name, records, control.record.overrides),
    policies: viewPolicies(records),
    totals: own?.total ?? NOTHING,
    stepMs: STEP_MS[span],
    series: own === undefined ? [] : pointsOf(own, span),
    lastMinute: own === undefined ? NOTHING : lastMinuteOf(own, usage.at),
    byLimit: denialsByLimit(own),
    used: own?.subjects.used.top.map(toRow) ?? [],
    denied: own?.subjects.denied.top.map(toRow) ?? [],
    topsFrom: own?.subjects.from ?? usage.at,
    overrides: viewOverrides(overrides, registry, log.entries),
    processes: viewProcesses(processes, reports),
    coverage: coverageOf(usage, span, processes, reports),
    unread: usage.unread.length + registry.unread.length,
  };
}

/** Whether a limiter may have this name, judging by data already read for all views: guessing names costs Redis nothing. */
async function isKnown(reading: Reading, name: string, span: Span): Promise<boolean> {
  const isOf = (one: { readonly name: string }): boolean => one.name === name;
  const { limiters } = await reading.directory();
  if (limiters.some(isOf)) return true;
  const usage = await reading.usage(span);
  return usage.limiters.some(isOf) || usage.others !== undefined;
}

/** Denials by the name of a limit, and those without a name: by blocks, and by limits beyond those that are stored. */
function denialsByLimit(usage: LimiterUsage | undefined): LimiterView["byLimit"] {
  if (usage === undefined) return [];
  const { byLimit, byBlock, more } = usage.limits;
  const rows = [
    ...byLimit.map(({ limit, denied }) => ({ limit, denied })),
    { limit: "a block", denied: byBlock },
    { limit: "other limits", denied: more },
  ];
  return rows.filter(({ denied }) => denied > 0).sort((one, other) => other.denied - one.denied);
}

/** Each policy that processes have under the name, with those processes, whatever their version of Headgate. */
function viewPolicies(records: readonly RegistryLimiter[]): readonly PolicyView[] {
  const groups = groupBy(records, (one) =>
    JSON.stringify([one.policy, one.shadow, one.extends ?? null]),
  );
  return [...groups.values()].map((same): PolicyView => {
    const [first] = same as [RegistryLimiter];
    const { limits, shadow } = first;
    const isCut = first.isCut === true;
    return {
      words: isCut ? ["too long to be listed"] : limits.map(formatLimit),
      code: isCut ? "" : formatPolicy(limits),
      numbers: isCut ? {} : numbersOf(first),
      processes: [...new Set(same.flatMap(({ processes }) => processes))],
      shadow,
      extends: first.extends,
      uses: [...new Set(same.flatMap(({ uses }) => uses.map(formatUse)))],
    };
  });
}

function numbersOf(record: RegistryLimiter): PolicyView["numbers"] {
  return Object.fromEntries(
    namedLimits(record).map(([name, limit]) => [name, numbersOfLimit(limit)]),
  );
}

function toRow({ dimension, subject, hash, count, error }: TopSubject): TopRow {
  return { dimension, subject: subject ?? null, hash: hash ?? null, count, error };
}
