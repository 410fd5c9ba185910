import type { Remote } from "../../store/store.ts";
import type { Unit } from "../../store/unit.ts";

/** Units that can go in one call, together. */
export function bySlot<U extends Unit>(units: readonly U[], remote: Remote): readonly U[][] {
  const slots = new Map<number, U[]>();
  for (const unit of units) {
    const slot = remote.slotOf(unit.key);
    const together = slots.get(slot);
    if (together === undefined) slots.set(slot, [unit]);
    else together.push(unit);
  }
  return [...slots.values()];
}

/** The same for units of one call that failed, when it failed because they are in several slots; undefined otherwise. */
export function bySlotAfter<U extends Unit>(
  error: unknown,
  units: readonly U[],
  remote: Remote,
): readonly U[][] | undefined {
  if (!remote.isAcrossSlots(error)) return undefined;
  const slots = bySlot(units, remote);
  return slots.length > 1 ? slots : undefined;
}
