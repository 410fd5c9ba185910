import { NEVER } from "../algorithms/exact.ts";
import type { Block } from "./block.ts";
import type { Counter } from "./counter.ts";

/**
 * Puts into the reply to a decision how a block denies: by the limit that set it or, when it was set by hand, by all limits of the
 * counter; also where the cost leaves out the one that set it. `at` is where the four numbers of its first limit are. A look with a cost of 0 sees the limits as they are.
 */
export function denyByBlock(
  reply: number[],
  at: number,
  { limits, costs }: Counter,
  { setBy: by }: Block,
  rest: number,
  cost: number,
): void {
  const setBy = costs?.[by - 1] === 0 ? 0 : by;
  for (let i = 0; i < limits.length; i += 1) {
    if (setBy > 0 && setBy !== i + 1) continue;
    const from = at + 4 * i;
    const wait = reply[from] as number;
    if (wait !== NEVER) reply[from] = Math.max(wait, rest);
    if (setBy === 0 && cost === 0) continue;
    reply[from + 1] = Math.min(0, reply[from + 1] as number);
    reply[from + 2] = Math.max(rest, reply[from + 2] as number);
    reply[from + 3] = Math.max(rest, reply[from + 3] as number);
  }
}
