import type { StoreMonitor } from "../health/store-monitor.ts";
import type { Counter } from "../operations/counter.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { ScriptTransport } from "../store/store.ts";
import type { Mutation, MutationResult } from "./stage.ts";
import { publishThresholds } from "./thresholds.ts";

/** A limiter's policy, and the servers with its counters. */
export interface PolicyOnServers {
  readonly policy: CompiledPolicy;
  readonly monitor: StoreMonitor;
  readonly transport: ScriptTransport;
}

/** Carries out a mutation in all hash slots concurrently. Never rejects. */
export async function mutateOnServers<Call, Reply>(
  { policy, monitor, transport }: PolicyOnServers,
  { operation, counters, callOf, thresholdsOf }: Mutation<Call, Reply>,
): Promise<readonly MutationResult<Reply>[]> {
  const reportThresholds =
    thresholdsOf &&
    ((reply: Reply | undefined) => {
      if (reply !== undefined) publishThresholds(policy, thresholdsOf(reply));
    });

  async function mutateInOneCall(
    group: readonly Counter[],
    usedTimeoutMs: number,
  ): Promise<readonly MutationResult<Reply>[]> {
    const sentAt = monitor.now();
    try {
      const { key } = group[0] as Counter;
      const reply = await monitor.run(
        policy.store,
        operation,
        callOf(group),
        key,
        usedTimeoutMs,
        reportThresholds,
      );
      reportThresholds?.(reply);
      return [{ counters: group, reply }];
    } catch (error) {
      const regrouped = regroupByHashSlot(error, group, transport);
      if (regrouped === undefined) return [{ counters: group, error }];
      return mutateEachHashSlot(regrouped, usedTimeoutMs + monitor.now() - sentAt);
    }
  }

  async function mutateEachHashSlot(
    hashSlots: readonly (readonly Counter[])[],
    usedTimeoutMs: number,
  ): Promise<readonly MutationResult<Reply>[]> {
    const results = hashSlots.map((group) => mutateInOneCall(group, usedTimeoutMs));
    return (await Promise.all(results)).flat();
  }

  return mutateEachHashSlot(groupByHashSlot(counters, transport), 0);
}

/** The counters by hash slot: those of one hash slot can go in one call. */
export function groupByHashSlot<C extends Counter>(
  counters: readonly C[],
  transport: ScriptTransport,
): readonly (readonly C[])[] {
  if (counters.length === 1) return [counters];
  const groups = new Map<number, C[]>();
  for (const counter of counters) {
    const hashSlot = transport.hashSlotOf(counter.key);
    const group = groups.get(hashSlot);
    if (group === undefined) groups.set(hashSlot, [counter]);
    else group.push(counter);
  }
  return [...groups.values()];
}

/** The counters by hash slot if a call with all of them was refused because they are in several; otherwise undefined. */
export function regroupByHashSlot<C extends Counter>(
  error: unknown,
  counters: readonly C[],
  transport: ScriptTransport,
): readonly (readonly C[])[] | undefined {
  if (!transport.isCrossSlotError(error)) return undefined;
  const groups = groupByHashSlot(counters, transport);
  return groups.length > 1 ? groups : undefined;
}
