import type { BreakerTargets } from "./record.ts";

/** The most targets that are listed for a breaker, of one process and of all together. */
export const MAX_TARGETS = 200;

/**
 * The longest name that is listed, in characters. A breaker shortens longer ones, and a shortened name would not lead to the
 * target.
 */
export const MAX_TARGET_CHARACTERS = 100;

/** The most bytes of names, as JSON, in the record of a process. */
const MAX_NAME_BYTES = 65_536;

/** Names the targets of a breaker, the most important first. */
export type GetTargetNames = () => Iterable<string>;

/** The targets of some breakers for the registry, by the hash of each breaker's record. Counts those that do not fit. */
export function collectTargets(
  breakers: ReadonlyMap<string, GetTargetNames>,
): readonly BreakerTargets[] {
  let room = MAX_NAME_BYTES;
  return [...breakers].map(([record, getTargetNames]) => {
    const names: string[] = [];
    let more = 0;
    for (const name of getTargetNames()) {
      const isListed = names.length < MAX_TARGETS && name.length <= MAX_TARGET_CHARACTERS;
      const bytes = isListed ? Buffer.byteLength(JSON.stringify(name)) + 1 : 0;
      if (isListed && bytes <= room) names.push(name);
      else more += 1;
      room -= bytes <= room ? bytes : 0;
    }
    return { record, names: names.sort(), more };
  });
}
