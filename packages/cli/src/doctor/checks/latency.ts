import { formatMeasured, formatSpan, pluralize } from "@headgate/replay/internal";
import type { ServerFacts, SlowCommand } from "../facts/facts.ts";
import { numberOf, partOf, UnknownFact } from "../facts/facts.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, fixSetting, ifKnown, redisCliCommand } from "../finding.ts";

const SLOW_FIX =
  "check the network, slow commands, and the load of both machines; or give the limiters a longer storeTimeout";

export const latency: Check = eachServer(
  "latency",
  "latenciesMs",
  (all, { receivesDecisions }, { storeTimeoutMs }) => {
    const [p50, p99] = [percentileOf(all, 0.5), percentileOf(all, 0.99)];
    const message = `${all.length} calls, p50 ${formatMeasured(p50)}, p99 ${formatMeasured(p99)}; limiters wait ${storeTimeoutMs} ms`;
    // Limiters do not send decisions to replicas.
    if (!receivesDecisions || p99 < storeTimeoutMs / 2) return { status: "ok", message };
    if (p50 >= storeTimeoutMs) {
      const impact = "most decisions are made without Redis";
      return { status: "problem", message, impact, fix: SLOW_FIX };
    }
    if (p99 >= storeTimeoutMs) {
      const impact = "some decisions are made without Redis";
      return { status: "warning", message, impact, fix: SLOW_FIX };
    }
    const impact = "if latency grows, decisions are made without Redis";
    return { status: "note", message, impact, fix: SLOW_FIX };
  },
);

/** A percentile of values in ascending order. */
function percentileOf(values: readonly number[], share: number): number {
  return values[Math.max(0, Math.ceil(values.length * share) - 1)] ?? 0;
}

/** Commands that took at least this long, within the last hour. */
const SLOW_COMMAND_MS = 10;
const RECENT_SECONDS = 3_600;

export const slowCommands: Check = eachServer(
  "slow-commands",
  "slowCommands",
  (commands, _, { storeTimeoutMs }) => {
    const lately = commands.filter(
      ({ durationMs, secondsAgo }) => durationMs >= SLOW_COMMAND_MS && secondsAgo <= RECENT_SECONDS,
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
  },
);

function formatSlowCommand({ command, durationMs, secondsAgo }: SlowCommand): string {
  return `${command}, ${Math.round(durationMs)} ms, ${formatSpan(1_000 * Math.max(1, secondsAgo))} ago`;
}

/** The default of Redis. */
const DEFAULT_THRESHOLD_MS = 5_000;

export const busyScripts: Check = {
  name: "busy-scripts",
  run: ({ servers }) =>
    servers.map((server) => ({ ...checkBusyScripts(server), server: server.address })),
};

function checkBusyScripts(server: ServerFacts): Finding {
  if (server.config instanceof UnknownFact && server.config.error.startsWith("BUSY")) {
    return {
      status: "problem",
      message: "a script does not end, and the server answers no other command (BUSY)",
      impact: "every decision is made without Redis until the script ends",
      fix: "kill it; if it has already written, only SHUTDOWN NOSAVE helps",
      commands: [redisCliCommand(server, "SCRIPT", "KILL")],
    };
  }
  return ifKnown(server.config, (config) => {
    // Before Redis 7 the option had another name.
    const name = "busy-reply-threshold" in config ? "busy-reply-threshold" : "lua-time-limit";
    const threshold = numberOf(config, name) ?? DEFAULT_THRESHOLD_MS;
    const message = `${name} ${threshold} ms`;
    if (threshold > 0 && threshold <= DEFAULT_THRESHOLD_MS) return { status: "ok", message };
    return {
      status: "note",
      message,
      impact:
        "a script that hangs can be killed only after this time, and the server answers no other command meanwhile",
      ...fixSetting(server, "lower the threshold", name, DEFAULT_THRESHOLD_MS),
    };
  });
}

/** Warns after at least three flushes, if there was more than one an hour on average. */
const MIN_FLUSH_INTERVAL_SECONDS = 3_600;
const MIN_FLUSHES = 3;

/** Warns if more than one call in twenty, and at least this many, missed the cache. A restart alone causes some hundred misses. */
const MAX_MISS_SHARE = 0.05;
const MIN_MISSES = 1_000;

const CACHE_IMPACT =
  "such calls are sent twice, the second time with the whole script, which is slower and more work for the server";
const CACHE_FIX =
  "find the client that runs SCRIPT FLUSH, or EVAL with ever new scripts; ACL SETUSER ... -script|flush forbids the former; CONFIG RESETSTAT resets the count";

export const scriptCache: Check = eachServer(
  "script-cache",
  "scriptCache",
  ({ watchedMs, lostAfterMs }, server) => {
    if (lostAfterMs === undefined) return checkStatistics(server, watchedMs);
    const message = `the server dropped a script from its cache within ${lostAfterMs} ms`;
    return { status: "warning", message, impact: CACHE_IMPACT, fix: CACHE_FIX };
  },
);

function checkStatistics({ info }: ServerFacts, watchedMs: number): Finding {
  const kept = `a script stayed in the cache for ${watchedMs} ms`;
  if (info instanceof UnknownFact) return { status: "ok", message: kept };
  const flushes = partOf(info, "cmdstat_script|flush", "calls");
  const uptime = numberOf(info, "uptime_in_seconds") ?? 0;
  if (flushes >= MIN_FLUSHES && uptime / flushes < MIN_FLUSH_INTERVAL_SECONDS) {
    const message = `SCRIPT FLUSH ran ${pluralize(flushes, "time")} in ${formatSpan(1_000 * uptime)}`;
    return { status: "warning", message, impact: CACHE_IMPACT, fix: CACHE_FIX };
  }
  // Since the statistics were reset, or since the server started.
  const calls = partOf(info, "cmdstat_evalsha", "calls");
  const misses = partOf(info, "errorstat_NOSCRIPT", "count");
  if (misses >= MIN_MISSES && misses > MAX_MISS_SHARE * calls) {
    const message = `${pluralize(misses, "call")} of ${pluralize(calls, "EVALSHA", "EVALSHA")} missed the script cache`;
    return { status: "warning", message, impact: CACHE_IMPACT, fix: CACHE_FIX };
  }
  const cached = numberOf(info, "number_of_cached_scripts");
  return { status: "ok", message: cached === undefined ? kept : `${kept}; ${cached} in the cache` };
}
