import { pluralize } from "../../output/number.ts";
import { formatSpan } from "../../output/time.ts";
import { UnknownFact } from "../facts/fact.ts";
import type { ServerFacts } from "../facts/facts.ts";
import type { Info } from "../facts/info.ts";
import { numberOf, partOf } from "../facts/info.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";
import { redisCliCommand } from "../redis-cli-command.ts";

/** The default of Redis. */
const DEFAULT_THRESHOLD_MS = 5_000;

export const busyScripts: Check = {
  name: "busy-scripts",
  ...eachServer((server) => {
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
        fix: "lower the threshold; change it in the server's configuration file as well",
        commands: [redisCliCommand(server, "CONFIG", "SET", name, String(DEFAULT_THRESHOLD_MS))],
      };
    });
  }),
};

/** Warns after at least three flushes, if there was more than one an hour on average. */
const MIN_FLUSH_INTERVAL_SECONDS = 3_600;
const MIN_FLUSHES = 3;

/** Warns if more than one call in twenty, and at least this many, missed the cache. A restart alone causes some hundred misses. */
const MAX_MISS_SHARE = 0.05;
const MIN_MISSES = 1_000;

const IMPACT =
  "such calls are sent twice, the second time with the whole script, which is slower and more work for the server";
const FIX =
  "find the client that runs SCRIPT FLUSH, or EVAL with ever new scripts; ACL SETUSER ... -script|flush forbids the former; CONFIG RESETSTAT resets the count";

export const scriptCache: Check = {
  name: "script-cache",
  ...eachServer((server) =>
    ifKnown(server.scriptCache, ({ watchedMs, lostAfterMs }) => {
      if (lostAfterMs === undefined) return checkStatistics(server, watchedMs);
      const message = `the server dropped a script from its cache within ${lostAfterMs} ms`;
      return { status: "warning", message, impact: IMPACT, fix: FIX };
    }),
  ),
};

function checkStatistics({ info }: ServerFacts, watchedMs: number): Finding {
  const kept = `a script stayed in the cache for ${watchedMs} ms`;
  if (info instanceof UnknownFact) return { status: "ok", message: kept };
  const flushes = partOf(info, "cmdstat_script|flush", "calls");
  const uptime = numberOf(info, "uptime_in_seconds") ?? 0;
  if (flushes >= MIN_FLUSHES && uptime / flushes < MIN_FLUSH_INTERVAL_SECONDS) {
    const message = `SCRIPT FLUSH ran ${pluralize(flushes, "time")} in ${formatSpan(1_000 * uptime)}`;
    return { status: "warning", message, impact: IMPACT, fix: FIX };
  }
  const [calls, misses] = cacheMissesOf(info);
  if (misses >= MIN_MISSES && misses > MAX_MISS_SHARE * calls) {
    const message = `${pluralize(misses, "call")} of ${pluralize(calls, "EVALSHA", "EVALSHA")} missed the script cache`;
    return { status: "warning", message, impact: IMPACT, fix: FIX };
  }
  const cached = numberOf(info, "number_of_cached_scripts");
  return { status: "ok", message: cached === undefined ? kept : `${kept}; ${cached} in the cache` };
}

/** EVALSHA calls and cache misses since the statistics were reset, or since the server started. */
function cacheMissesOf(info: Info): readonly [calls: number, again: number] {
  return [partOf(info, "cmdstat_evalsha", "calls"), partOf(info, "errorstat_NOSCRIPT", "count")];
}
