import type { BreakerTargets } from "./registry.ts";

/** The most targets that are listed for a breaker, of one process and of all together. */
export const MOST_TARGETS = 200;

/**
 * The longest name that is listed, in characters. A breaker shortens longer ones, and a shortened name would not lead to the
 * target.
 */
export const LONGEST_TARGET = 100;

/** The most bytes of names, as JSON, in the record of a process. */
const MOST_BYTES = 65_536;

/** Names the targets of a breaker, the most important first. */
export type NameTargets = () => Iterable<string>;

/** The targets of some breakers for the directory, by the hash of each breaker's record. Counts those that do not fit. */
export function listTargets(breakers: ReadonlyMap<string, NameTargets>): readonly BreakerTargets[] {
  let room = MOST_BYTES;
  return [...breakers].map(([record, nameTargets]) => {
    const names: string[] = [];
    let more = 0;
    for (const name of nameTargets()) {
      const isListed = names.length < MOST_TARGETS && name.length <= LONGEST_TARGET;
      const bytes = isListed ? Buffer.byteLength(JSON.stringify(name)) + 1 : 0;
      if (isListed && bytes <= room) names.push(name);
      else more += 1;
      room -= bytes <= room ? bytes : 0;
    }
    return { record, names: names.sort(), more };
  });
}
