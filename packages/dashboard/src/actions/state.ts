import type { Inspection } from "@headgate/core/operate";

/** The state shown to an operator, as far as it must be unchanged when the action is performed. */
export interface ShownState {
  /** Equal if nothing has changed. */
  readonly facts: string;
  /** When blocks end, in milliseconds since the epoch. Between two readings, the same end may differ slightly. */
  readonly ends: readonly number[];
}

/** The largest difference for the same end. */
const TOLERANCE_MS = 5_000;

/** Whether two states are the same. */
export function isSame(one: ShownState, other: ShownState): boolean {
  return (
    one.facts === other.facts &&
    one.ends.length === other.ends.length &&
    one.ends.every((end, i) => Math.abs(end - (other.ends[i] ?? 0)) <= TOLERANCE_MS)
  );
}

/** The state of something that is stored as a whole. */
export function stateOf(value: unknown): ShownState {
  return { facts: JSON.stringify(value ?? null), ends: [] };
}

/** The state of a subject: its limits and blocks. Usage changes with each request, and is left out. */
export function stateOfSubject(inspections: readonly Inspection[], now: number): ShownState {
  const blocks = inspections.flatMap((one) => one.blocks);
  return {
    facts: JSON.stringify([
      inspections.map(({ limits }) => limits.map(({ name, per }) => [name, per])),
      blocks.map(({ per, limit }) => [per, limit ?? null]),
    ]),
    ends: blocks.map(({ endsInMs }) => now + endsInMs),
  };
}
