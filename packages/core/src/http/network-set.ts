import type { Network, Position } from "./network.ts";
import { compare } from "./network.ts";

/** Networks among which that of an address is found by few comparisons, however many there are. */
export interface NetworkSet {
  /** Whether one of them has the address at a position. */
  has(position: Position): boolean;
}

export function createNetworkSet(networks: readonly Network[]): NetworkSet {
  const sorted = withoutInner(networks);
  return {
    has(position) {
      const at = lastIndexWhere(
        sorted.length,
        (i) => compare((sorted[i] as Network).first, position) <= 0,
      );
      return at >= 0 && compare(position, (sorted[at] as Network).last) <= 0;
    },
  };
}

/** Networks in their order, without those inside others. Of two that overlap, one is inside the other. */
function withoutInner(networks: readonly Network[]): readonly Network[] {
  const kept: Network[] = [];
  for (const network of networks.toSorted(outerFirst)) {
    const before = kept.at(-1);
    if (before === undefined || compare(before.last, network.last) < 0) kept.push(network);
  }
  return kept;
}

function outerFirst(a: Network, b: Network): number {
  return compare(a.first, b.first) || compare(b.last, a.last);
}

/** The last index below `count` for which something holds that holds for all before it, too; -1 where there is none. */
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
