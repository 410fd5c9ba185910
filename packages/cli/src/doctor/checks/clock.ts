import { formatMeasured } from "../../output/time.ts";
import { Unknown } from "../facts/fact.ts";
import type { ClockReading } from "../facts/facts.ts";
import type { Check, PlacedFinding } from "../finding.ts";
import { ifKnown } from "../finding.ts";

/** The most milliseconds between clocks, beyond the error of a reading. */
const APART = 1_000;

export const clock: Check = {
  name: "clock",
  examine({ servers }) {
    const findings = servers.map(
      ({ clock, place }): PlacedFinding => ({ ...ifKnown(clock, judge), server: place }),
    );
    const apart = farthest(
      servers.flatMap(({ clock, place }) =>
        clock instanceof Unknown ? [] : [{ ...clock, place }],
      ),
    );
    return apart === undefined ? findings : [...findings, apart];
  },
};

function judge({ ahead, within }: ClockReading) {
  const found = `${Math.abs(ahead) < 0.5 ? "the same as" : `${formatMeasured(Math.abs(ahead))} ${ahead > 0 ? "ahead of" : "behind"}`} this machine's, give or take ${formatMeasured(within)}`;
  if (Math.abs(ahead) - within <= APART) return { status: "ok" as const, found };
  return {
    status: "warning" as const,
    found,
    means:
      "the server's clock decides: windows by the clock or the calendar end at its time, and when it is set right it steps, which may admit a budget once more",
    mend: "find out which of the two is wrong, as chronyc tracking says, and let both follow a time server, slowly",
  };
}

/** A finding where two servers' clocks are apart. */
function farthest(
  clocks: readonly (ClockReading & { readonly place: string })[],
): PlacedFinding | undefined {
  const inOrder = [...clocks].sort((a, b) => a.ahead - b.ahead);
  const [first, last] = [inOrder[0], inOrder.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const apart = last.ahead - first.ahead;
  if (apart - first.within - last.within <= APART) return undefined;
  return {
    status: "warning",
    found: `${last.place} is ${formatMeasured(apart)} ahead of ${first.place}`,
    means:
      "at a failover from one to the other the clock steps: forward by so much, or back, which may admit a budget once more",
    mend: "let both machines follow the same time server",
  };
}
