import type { SlowCommand } from "../facts/facts.ts";
import type { Check } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";
import { count, formatSeconds } from "../format-numbers.ts";

/** Slow is what holds a server for so many milliseconds, and lately is within so many seconds. */
const SLOW = 10;
const LATELY = 3_600;

export const slowCommands: Check = {
  name: "slow-commands",
  ...eachServer(({ slow }, { storeTimeout }) =>
    ifKnown(slow, (commands) => {
      const lately = commands.filter(
        ({ milliseconds, secondsAgo }) => milliseconds >= SLOW && secondsAgo <= LATELY,
      );
      const [first, ...others] = lately;
      if (first === undefined) {
        return { status: "ok", found: `none of ${SLOW} ms or more within the last hour` };
      }
      const slowest = others.reduce((a, b) => (b.milliseconds > a.milliseconds ? b : a), first);
      const found = `${count(lately.length, "command")} of ${SLOW} ms or more within the last hour; the slowest ${describe(slowest)}`;
      const means = "all calls wait while a command runs";
      const mend = "SLOWLOG GET shows them with their arguments; move such work to another server";
      if (slowest.milliseconds < storeTimeout) return { status: "note", found, means, mend };
      return {
        status: "warning",
        found,
        means: `${means}: what waits longer than ${storeTimeout} ms is decided without Redis`,
        mend,
      };
    }),
  ),
};

function describe({ command, milliseconds, secondsAgo }: SlowCommand): string {
  return `${command}, ${Math.round(milliseconds)} ms, ${formatSeconds(secondsAgo)} ago`;
}
