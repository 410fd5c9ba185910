import { formatMeasured } from "../../output/time.ts";
import { UnknownFact } from "../facts/fact.ts";
import type { ClockReading } from "../facts/facts.ts";
import type { Check, Finding, ServerFinding } from "../finding.ts";
import { ifKnown } from "../finding.ts";

/** Clocks may differ by this much, beyond the error of a reading. */
const MAX_DIFFERENCE_MS = 1_000;

export const clock: Check = {
  name: "clock",
  run({ servers }) {
    const findings = servers.map(
      ({ clock, address }): ServerFinding => ({ ...ifKnown(clock, checkReading), server: address }),
    );
    const difference = checkDifference(
      servers.flatMap(({ clock, address }) =>
        clock instanceof UnknownFact ? [] : [{ ...clock, address }],
      ),
    );
    return difference === undefined ? findings : [...findings, difference];
  },
};

function checkReading({ aheadMs, errorMs }: ClockReading): Finding {
  const message = `${Math.abs(aheadMs) < 0.5 ? "the same as" : `${formatMeasured(Math.abs(aheadMs))} ${aheadMs > 0 ? "ahead of" : "behind"}`} this machine's, give or take ${formatMeasured(errorMs)}`;
  if (Math.abs(aheadMs) - errorMs <= MAX_DIFFERENCE_MS) return { status: "ok", message };
  return {
    status: "warning",
    message,
    impact:
      "limiters use the server's clock: fixed and calendar windows end at its time, and correcting it makes it jump, which may admit the whole limit once more",
    fix: "find out which clock is wrong, for example with chronyc tracking, and let a time server correct both slowly",
  };
}

/** A finding if the clocks of two servers differ too much. */
function checkDifference(
  clocks: readonly (ClockReading & { readonly address: string })[],
): ServerFinding | undefined {
  const inOrder = [...clocks].sort((a, b) => a.aheadMs - b.aheadMs);
  const [first, last] = [inOrder[0], inOrder.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const apart = last.aheadMs - first.aheadMs;
  if (apart - first.errorMs - last.errorMs <= MAX_DIFFERENCE_MS) return undefined;
  return {
    status: "warning",
    message: `${last.address} is ${formatMeasured(apart)} ahead of ${first.address}`,
    impact:
      "a failover from one to the other makes the clock jump by this much; a jump may admit the whole limit once more",
    fix: "synchronize both machines with the same time server",
  };
}
