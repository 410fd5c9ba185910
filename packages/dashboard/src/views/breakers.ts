import { groupBy } from "@headgate/core/internal";
import type { LogEntry, RegistryBreaker } from "@headgate/core/operate";
import { formatActor } from "@headgate/core/operate";
import type { BreakersView, TargetRow } from "../api.ts";
import { findOptions, look, openBreaker } from "../breakers.ts";
import { formatStates } from "../format/change.ts";
import { formatBreaker } from "../format/policy.ts";
import type { DashboardOptions } from "../options.ts";
import type { Reading } from "../reading.ts";
import { Refusal } from "../serve/refusal.ts";
import { newestEntries } from "./newest-entries.ts";

type Breaker = BreakersView["breakers"][number];

type CreateBreaker = DashboardOptions["createBreaker"];

/** The breakers of the directory. */
export async function viewBreakers(
  reading: Reading,
  createBreaker: CreateBreaker,
): Promise<BreakersView> {
  const [registry, { entries }, at] = await Promise.all([
    reading.directory(),
    reading.log(),
    reading.now(),
  ]);
  const ordered = newestEntries(entries, "breaker");
  const breakers = await Promise.all(
    [...groupBy(registry.breakers, (one) => one.name)].map(async ([name, records]) => {
      const policy = records.map(({ isCut, options }) =>
        isCut === true ? "too long to be listed" : formatBreaker(options),
      );
      const { targets, targetsKnown } = await readTargets(reading, name, records, createBreaker);
      return {
        name,
        policy: [...new Set(policy)],
        processes: new Set(records.flatMap(({ processes }) => processes)).size,
        targets: targets.map((row) => {
          const entry = ordered(name, { target: row.target });
          return entry === undefined ? row : { ...row, lastOrder: viewOrder(entry) };
        }),
        targetsKnown,
      };
    }),
  );
  return { at, breakers, unread: registry.unread.length };
}

function viewOrder(entry: LogEntry): TargetRow["lastOrder"] {
  const state = formatStates(entry).after ?? "unknown";
  return { at: entry.at.getTime(), state, by: formatActor(entry) };
}

/**
 * The states of the targets that processes have called. Unknown without `createBreaker`, or if processes have different
 * breakers of this name.
 */
async function readTargets(
  reading: Reading,
  name: string,
  records: readonly RegistryBreaker[],
  createBreaker: CreateBreaker,
): Promise<Pick<Breaker, "targets" | "targetsKnown">> {
  const names = [...new Set(records.flatMap(({ targets = [] }) => targets))].sort();
  if (createBreaker === undefined || names.length === 0) {
    return { targets: [], targetsKnown: names.length === 0 && records.every(saysTargets) };
  }
  try {
    const targets = await reading.shared(`targets ${name}`, () =>
      lookAtTargets(reading, name, names, createBreaker),
    );
    return { targets, targetsKnown: records.every(saysAllTargets) };
  } catch (error) {
    if (error instanceof Refusal && error.status !== 503)
      return { targets: [], targetsKnown: false };
    throw error;
  }
}

function saysTargets({ targets }: RegistryBreaker): boolean {
  return targets !== undefined;
}

function saysAllTargets(breaker: RegistryBreaker): boolean {
  return saysTargets(breaker) && breaker.moreTargets === undefined;
}

async function lookAtTargets(
  reading: Reading,
  name: string,
  names: readonly string[],
  createBreaker: NonNullable<CreateBreaker>,
): Promise<readonly TargetRow[]> {
  const breaker = openBreaker(reading, createBreaker, await findOptions(reading, name), name);
  try {
    const at = await reading.now();
    return await Promise.all(
      names.map(async (target): Promise<TargetRow> => {
        const { state, successRate, calls, retryAfterMs } = await look(breaker.for(target));
        return {
          target,
          state,
          successRate,
          calls,
          ...(retryAfterMs > 0 && Number.isFinite(retryAfterMs)
            ? { until: at + retryAfterMs }
            : {}),
        };
      }),
    );
  } finally {
    await breaker.close();
  }
}
