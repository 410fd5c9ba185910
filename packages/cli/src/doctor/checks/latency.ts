import { pluralize } from "../../output/number.ts";
import { formatMeasured, formatSpan } from "../../output/time.ts";
import type { SlowCommand } from "../facts/facts.ts";
import type { Check } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";

const FIX =
  "check the network, slow commands, and the load of both machines; or give the limiters a longer storeTimeout";

export const latency: Check = {
  name: "latency",
  ...eachServer(({ latenciesMs, receivesDecisions }, { storeTimeoutMs }) =>
    ifKnown(latenciesMs, (all) => {
      const [p50, p99] = [percentileOf(all, 0.5), percentileOf(all, 0.99)];
      const message = `${all.length} calls, p50 ${formatMeasured(p50)}, p99 ${formatMeasured(p99)}; limiters wait ${storeTimeoutMs} ms`;
      // Limiters do not send decisions to replicas.
      if (!receivesDecisions || p99 < storeTimeoutMs / 2) return { status: "ok", message };
      if (p50 >= storeTimeoutMs) {
        const impact = "most decisions are made without Redis";
        return { status: "problem", message, impact, fix: FIX };
      }
      if (p99 >= storeTimeoutMs) {
        const impact = "some decisions are made without Redis";
        return { status: "warning", message, impact, fix: FIX };
      }
      const impact = "if latency grows, decisions are made without Redis";
      return { status: "note", message, impact, fix: FIX };
    }),
  ),
};

/** A percentile of values in ascending order. */
function percentileOf(values: readonly number[], share: number): number {
  return values[Math.max(0, Math.ceil(values.length * share) - 1)] ?? 0;
}

/** Commands that took at least this long, within the last hour. */
const SLOW_COMMAND_MS = 10;
const RECENT_SECONDS = 3_600;

export const slowCommands: Check = {
  name: "slow-commands",
  ...eachServer(({ slowCommands: slow }, { storeTimeoutMs }) =>
    ifKnown(slow, (commands) => {
      const lately = commands.filter(
        ({ durationMs, secondsAgo }) =>
          durationMs >= SLOW_COMMAND_MS && secondsAgo <= RECENT_SECONDS,
      );
      const [first, ...others] = lately;
      if (first === undefined) {
        return {
          status: "ok",
          message: `none of ${SLOW_COMMAND_MS} ms or more within the last hour`,
        };
      }
      const slowest = others.reduce((a, b) => (b.durationMs > a.durationMs ? b : a), first);
      const message = `${pluralize(lately.length, "command")} of ${SLOW_COMMAND_MS} ms or more within the last hour; the slowest ${formatSlowCommand(slowest)}`;
      const impact = "all calls wait while a command runs";
      const fix = "see them with their arguments in SLOWLOG GET; move such work to another server";
      if (slowest.durationMs < storeTimeoutMs) return { status: "note", message, impact, fix };
      return {
        status: "warning",
        message,
        impact: `${impact}: calls that wait longer than ${storeTimeoutMs} ms are decided without Redis`,
        fix,
      };
    }),
  ),
};

function formatSlowCommand({ command, durationMs, secondsAgo }: SlowCommand): string {
  return `${command}, ${Math.round(durationMs)} ms, ${formatSpan(1_000 * Math.max(1, secondsAgo))} ago`;
}
