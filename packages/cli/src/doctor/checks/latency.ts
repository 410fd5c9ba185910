import { counted } from "../../output/number.ts";
import { formatMeasured, formatSpan } from "../../output/time.ts";
import type { SlowCommand } from "../facts/facts.ts";
import type { Check } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";

const MEND =
  "look at the network between, at slow commands, and at the load of both machines; or give the limiters a longer storeTimeout";

export const latency: Check = {
  name: "latency",
  ...eachServer(({ latencies, decides }, { storeTimeout }) =>
    ifKnown(latencies, (all) => {
      const [p50, p99] = [shareOf(all, 0.5), shareOf(all, 0.99)];
      const found = `${all.length} calls, p50 ${formatMeasured(p50)}, p99 ${formatMeasured(p99)}; limiters wait ${storeTimeout} ms`;
      // Limiters do not ask replicas.
      if (!decides || p99 < storeTimeout / 2) return { status: "ok", found };
      if (p50 >= storeTimeout) {
        const means = "most decisions are taken without Redis";
        return { status: "problem", found, means, mend: MEND };
      }
      if (p99 >= storeTimeout) {
        const means = "some decisions are taken without Redis";
        return { status: "warning", found, means, mend: MEND };
      }
      const means = "a worse moment, and decisions are taken without Redis";
      return { status: "note", found, means, mend: MEND };
    }),
  ),
};

/** A percentile of values in ascending order. */
function shareOf(values: readonly number[], share: number): number {
  return values[Math.max(0, Math.ceil(values.length * share) - 1)] ?? 0;
}

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
      const found = `${counted(lately.length, "command")} of ${SLOW} ms or more within the last hour; the slowest ${describe(slowest)}`;
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
  return `${command}, ${Math.round(milliseconds)} ms, ${formatSpan(1_000 * Math.max(1, secondsAgo))} ago`;
}
