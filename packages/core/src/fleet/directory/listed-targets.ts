import type { BreakerTargets } from "./directory.ts";

/** The most targets of a breaker that are listed, of one process and of all. */
export const MOST_TARGETS = 200;

/** The longest name that is listed, in characters. A breaker shortens longer ones, and by a shortened name nobody finds the target. */
export const LONGEST_TARGET = 100;

/** The most bytes, as JSON, that names take in the record of a process. */
const MOST_BYTES = 65_536;

/** What names the targets of a breaker, those first that matter most. */
export type NameTargets = () => Iterable<string>;

/** The targets of some breakers, by the hash of each breaker's record, as they are written. Those that have no room are counted. */
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
