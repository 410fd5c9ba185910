import type { Counter } from "../operations/counter.ts";
import type { ScriptTransport } from "../store/store.ts";

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
