import type { LogEntry, RegistryBreaker } from "@headgate/core/admin";
import { formatActor } from "@headgate/core/admin";
import { groupBy } from "@headgate/core/internal";
import type { BreakersView, TargetRow } from "../api.ts";
import { readTarget, useBreaker } from "../breakers.ts";
import type { FleetReader } from "../fleet-reader.ts";
import { describeBreaker } from "../format/policy.ts";
import { formatLoggedState } from "../format/state.ts";
import type { DashboardOptions } from "../options.ts";
import { HttpError } from "../serve/http-error.ts";
import { indexNewestEntries } from "./log.ts";

type Breaker = BreakersView["breakers"][number];

type CreateBreaker = DashboardOptions["createBreaker"];

/** The breakers of the registry. */
export async function buildBreakersView(
  reader: FleetReader,
  createBreaker: CreateBreaker,
): Promise<BreakersView> {
  const [registry, { entries }, at] = await Promise.all([
    reader.loadRegistry(),
    reader.loadLog(),
    reader.serverTime(),
  ]);
  const newestOrder = indexNewestEntries(entries, "breaker");
  const breakers = await Promise.all(
    [...groupBy(registry.breakers, (one) => one.name)].map(async ([name, records]) => {
      const policy = records.map(({ isTruncated, options }) =>
        isTruncated === true ? "too long to be listed" : describeBreaker(options),
      );
      const { targets, hasAllTargets } = await loadTargets(reader, name, records, createBreaker);
      return {
        name,
        policy: [...new Set(policy)],
        processes: new Set(records.flatMap(({ processes }) => processes)).size,
        targets: targets.map((row) => {
          const entry = newestOrder(name, { target: row.target });
          return entry === undefined ? row : { ...row, lastOrder: toLastOrder(entry) };
        }),
        hasAllTargets,
      };
    }),
  );
  return { at, breakers, unreadable: registry.unreadable.length };
}

function toLastOrder(entry: LogEntry): TargetRow["lastOrder"] {
  const state = formatLoggedState(entry.kind, entry.after) ?? "unknown";
  return { at: entry.at.getTime(), state, by: formatActor(entry) };
}

/**
 * The states of the targets that processes have called. They are unknown without `createBreaker`, or if processes have different
 * options for this breaker.
 */
async function loadTargets(
  reader: FleetReader,
  name: string,
  records: readonly RegistryBreaker[],
  createBreaker: CreateBreaker,
): Promise<Pick<Breaker, "targets" | "hasAllTargets">> {
  const names = [...new Set(records.flatMap(({ targets = [] }) => targets))].sort();
  if (createBreaker === undefined || names.length === 0) {
    return { targets: [], hasAllTargets: names.length === 0 && records.every(listsTargets) };
  }
  try {
    const targets = await reader.cacheRead(`targets ${name}`, () =>
      readTargetRows(reader, name, names, createBreaker),
    );
    const isWhole = (one: RegistryBreaker) => listsTargets(one) && one.moreTargets === undefined;
    return { targets, hasAllTargets: records.every(isWhole) };
  } catch (error) {
    if (error instanceof HttpError && error.status !== 503)
      return { targets: [], hasAllTargets: false };
    throw error;
  }
}

function listsTargets({ targets }: RegistryBreaker): boolean {
  return targets !== undefined;
}

function readTargetRows(
  reader: FleetReader,
  name: string,
  names: readonly string[],
  createBreaker: NonNullable<CreateBreaker>,
): Promise<readonly TargetRow[]> {
  return useBreaker(reader, createBreaker, name, async (breaker) => {
    const at = await reader.serverTime();
    return Promise.all(
      names.map(async (target): Promise<TargetRow> => {
        const { state, successRate, calls, retryAfterMs } = await readTarget(breaker.for(target));
        const isWaiting = retryAfterMs > 0 && Number.isFinite(retryAfterMs);
        const row = { target, state, successRate, calls };
        return isWaiting ? { ...row, until: at + retryAfterMs } : row;
      }),
    );
  });
}
