import type { Inspection } from "@headgate/core/operate";

/** What an operator was shown, as far as it must still be so when the action is done. */
export interface ShownState {
  /** Equal where nothing has changed. */
  readonly facts: string;
  /** Ends of blocks in milliseconds since the epoch: read at two times, they differ by as long as the readings took. */
  readonly ends: readonly number[];
}

/** The most by which the same end may differ. */
const TOLERANCE_MS = 5_000;

/** Whether two states are the same. */
export function isSame(one: ShownState, other: ShownState): boolean {
  return (
    one.facts === other.facts &&
    one.ends.length === other.ends.length &&
    one.ends.every((end, i) => Math.abs(end - (other.ends[i] ?? 0)) <= TOLERANCE_MS)
  );
}

/** The state of something that is written down whole. */
export function stateOf(value: unknown): ShownState {
  return { facts: JSON.stringify(value ?? null), ends: [] };
}

/** The state of a subject: its limits and blocks. What is used of a limit changes with each request, and does not count. */
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
