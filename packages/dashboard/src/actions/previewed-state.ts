import type { Inspection } from "@headgate/core/admin";

/** The part of the previewed state that must be unchanged when the action is performed. */
export interface PreviewedState {
  /** JSON that is equal while nothing has changed. */
  readonly facts: string;
  /** When blocks end, in milliseconds since the epoch. Two reads of the same end may differ slightly. */
  readonly blockEnds: readonly number[];
}

/** The maximum difference between two reads of the same end. */
const TOLERANCE_MS = 5_000;

/** Whether two states are the same. */
export function isSameState(one: PreviewedState, other: PreviewedState): boolean {
  return (
    one.facts === other.facts &&
    one.blockEnds.length === other.blockEnds.length &&
    one.blockEnds.every((end, i) => Math.abs(end - (other.blockEnds[i] ?? 0)) <= TOLERANCE_MS)
  );
}

/** The state of a record that is stored as a whole. */
export function stateOf(value: unknown): PreviewedState {
  return { facts: JSON.stringify(value ?? null), blockEnds: [] };
}

/** The state of a subject: its limits and blocks. Usage changes with each request, and is left out. */
export function stateOfSubject(inspections: readonly Inspection[], now: number): PreviewedState {
  const blocks = inspections.flatMap((one) => one.blocks);
  return {
    facts: JSON.stringify([
      inspections.map(({ limits }) => limits.map(({ name, per }) => [name, per])),
      blocks.map(({ per, limit }) => [per, limit ?? null]),
    ]),
    blockEnds: blocks.map(({ endsInMs }) => now + endsInMs),
  };
}
