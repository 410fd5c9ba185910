import { formatMeasured } from "../../output/time.ts";
import { UnknownFact } from "../facts/fact.ts";
import type { ClockReading } from "../facts/facts.ts";
import type { Check, ServerFinding } from "../finding.ts";
import { ifKnown } from "../finding.ts";

/** The most milliseconds between clocks, beyond the error of a reading. */
const MAX_DIFFERENCE_MS = 1_000;

export const clock: Check = {
  name: "clock",
  run({ servers }) {
    const findings = servers.map(
      ({ clock, address }): ServerFinding => ({ ...ifKnown(clock, checkReading), server: address }),
    );
    const difference = checkDifference(
      servers.flatMap(({ clock, address }) =>
        clock instanceof UnknownFact ? [] : [{ ...clock, place: address }],
      ),
    );
    return difference === undefined ? findings : [...findings, difference];
  },
};

function checkReading({ aheadMs, errorMs }: ClockReading) {
  const found = `${Math.abs(aheadMs) < 0.5 ? "the same as" : `${formatMeasured(Math.abs(aheadMs))} ${aheadMs > 0 ? "ahead of" : "behind"}`} this machine's, give or take ${formatMeasured(errorMs)}`;
  if (Math.abs(aheadMs) - errorMs <= MAX_DIFFERENCE_MS) return { status: "ok" as const, found };
  return {
    status: "warning" as const,
    found,
    means:
      "the server's clock decides: windows by the clock or the calendar end at its time, and when it is set right it steps, which may admit a budget once more",
    mend: "find out which of the two is wrong, as chronyc tracking says, and let both follow a time server, slowly",
  };
}

/** A finding where two servers' clocks are apart. */
function checkDifference(
  clocks: readonly (ClockReading & { readonly place: string })[],
): ServerFinding | undefined {
  const inOrder = [...clocks].sort((a, b) => a.aheadMs - b.aheadMs);
  const [first, last] = [inOrder[0], inOrder.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const apart = last.aheadMs - first.aheadMs;
  if (apart - first.errorMs - last.errorMs <= MAX_DIFFERENCE_MS) return undefined;
  return {
    status: "warning",
    message: `${last.place} is ${formatMeasured(apart)} ahead of ${first.place}`,
    impact:
      "at a failover from one to the other the clock steps: forward by so much, or back, which may admit a budget once more",
    fix: "let both machines follow the same time server",
  };
}
