import type { Counter } from "../../store/counter.ts";
import type { Remote } from "../../store/store.ts";

/** Counters that can go in one call, together. */
export function bySlot<C extends Counter>(counters: readonly C[], remote: Remote): readonly C[][] {
  const slots = new Map<number, C[]>();
  for (const counter of counters) {
    const slot = remote.slotOf(counter.key);
    const together = slots.get(slot);
    if (together === undefined) slots.set(slot, [counter]);
    else together.push(counter);
  }
  return [...slots.values()];
}

/** The same for counters of one call that failed, when it failed because they are in several slots; undefined otherwise. */
export function bySlotAfter<C extends Counter>(
  error: unknown,
  counters: readonly C[],
  remote: Remote,
): readonly C[][] | undefined {
  if (!remote.isAcrossSlots(error)) return undefined;
  const slots = bySlot(counters, remote);
  return slots.length > 1 ? slots : undefined;
}
