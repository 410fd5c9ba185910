import type { AddressPosition, Network } from "./network.ts";
import { comparePositions } from "./network.ts";

/** Networks, sorted so that a lookup takes few comparisons. */
export interface NetworkSet {
  /** Whether a network includes the address at this position. */
  has(position: AddressPosition): boolean;
}

export function createNetworkSet(networks: readonly Network[]): NetworkSet {
  const sorted = dropContained(networks);
  const firsts = columnsOf(sorted.map(({ first }) => first));
  const lasts = columnsOf(sorted.map(({ last }) => last));
  return {
    has(position) {
      const at = lastIndexWhere(sorted.length, (i) => compareAt(firsts, i, position) <= 0);
      return at >= 0 && compareAt(lasts, at, position) >= 0;
    },
  };
}

/** Positions as columns of numbers: reading them from objects takes several times as long. */
interface Columns {
  readonly high: Float64Array;
  readonly middle: Float64Array;
  readonly low: Float64Array;
}

function columnsOf(positions: readonly AddressPosition[]): Columns {
  return {
    high: Float64Array.from(positions, ({ high }) => high),
    middle: Float64Array.from(positions, ({ middle }) => middle),
    low: Float64Array.from(positions, ({ low }) => low),
  };
}

/** `compare` for the position at an index. */
function compareAt(
  { high, middle, low }: Columns,
  index: number,
  position: AddressPosition,
): number {
  return (
    (high[index] as number) - position.high ||
    (middle[index] as number) - position.middle ||
    (low[index] as number) - position.low
  );
}

/** Networks in order, without those that lie inside another. Networks never overlap partly. */
function dropContained(networks: readonly Network[]): readonly Network[] {
  const kept: Network[] = [];
  for (const network of networks.toSorted(compareOuterFirst)) {
    const before = kept.at(-1);
    if (before === undefined || comparePositions(before.last, network.last) < 0) kept.push(network);
  }
  return kept;
}

function compareOuterFirst(a: Network, b: Network): number {
  return comparePositions(a.first, b.first) || comparePositions(b.last, a.last);
}

/**
 * The last index below `count` for which `holds` is true, where `holds` is also true for every index before it; -1 if there is
 * none.
 */
export function lastIndexWhere(count: number, holds: (index: number) => boolean): number {
  let from = 0;
  let to = count;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (holds(middle)) from = middle + 1;
    else to = middle;
  }
  return from - 1;
}
