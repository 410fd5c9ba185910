import { expect, test } from "vitest";
import { isShedding, readShedding } from "./shedding.ts";

const shedder = (dryRun: boolean, isOver: boolean, until: number) => ({
  dryRun,
  episode: { from: 0, until, isOver, default: 1, sheddable: 0, heavySubjects: 0 },
});

test("of several load shedders, one that sheds now counts first, then an enforced one, then the last", () => {
  const enforcedNow = shedder(false, false, 1);
  const dryRunNow = shedder(true, false, 2);
  const enforcedOver = shedder(false, true, 4);
  const enforcedOverBefore = shedder(false, true, 3);
  const dryRunOver = shedder(true, true, 5);
  const ranked = [enforcedNow, dryRunNow, enforcedOver, enforcedOverBefore, dryRunOver];
  ranked.forEach((first, rank) => {
    const listed = ranked.slice(rank).toReversed();
    const details = Object.fromEntries(listed.map((one, i) => [`shedder ${i}`, one]));
    expect(readShedding(details)?.episode?.until).toBe(first.episode.until);
    expect(isShedding(details)).toBe(rank === 0);
  });
});
