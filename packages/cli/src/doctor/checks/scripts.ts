import { pluralize } from "../../output/number.ts";
import { formatSpan } from "../../output/time.ts";
import { UnknownFact } from "../facts/fact.ts";
import type { ServerFacts } from "../facts/facts.ts";
import type { Info } from "../facts/info.ts";
import { numberOf, partOf } from "../facts/info.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";
import { redisCliCommand } from "../redis-cli-command.ts";

/** The server's own default, in milliseconds. */
const DEFAULT_THRESHOLD_MS = 5_000;

export const busyScripts: Check = {
  name: "busy-scripts",
  ...eachServer((server) => {
    if (server.config instanceof UnknownFact && server.config.error.startsWith("BUSY")) {
      return {
        status: "problem",
        message: "a script does not end, and the server answers nobody (BUSY)",
        impact: "every decision is taken without Redis until it is ended",
        fix: "end it; where it has written already only SHUTDOWN NOSAVE helps",
        commands: [redisCliCommand(server, "SCRIPT", "KILL")],
      };
    }
    return ifKnown(server.config, (config) => {
      // The name is another one before Redis 7.
      const name = "busy-reply-threshold" in config ? "busy-reply-threshold" : "lua-time-limit";
      const threshold = numberOf(config, name) ?? DEFAULT_THRESHOLD_MS;
      const message = `${name} ${threshold} ms`;
      if (threshold > 0 && threshold <= DEFAULT_THRESHOLD_MS) return { status: "ok", message };
      return {
        status: "note",
        message,
        impact:
          "a script that hangs can be ended only after that time, and nobody is answered meanwhile",
        fix: "let it be ended sooner; write it into the server's configuration as well",
        commands: [redisCliCommand(server, "CONFIG", "SET", name, String(DEFAULT_THRESHOLD_MS))],
      };
    });
  }),
};

/** Flushed more often than once in so many seconds, on average, and so many times at least. */
const MIN_FLUSH_INTERVAL_SECONDS = 3_600;
const MIN_FLUSHES = 3;

/** More than one call in twenty met a forgotten script, and so many at least: after a restart some hundred calls at once do. */
const MAX_MISS_SHARE = 0.05;
const MIN_MISSES = 1_000;

const IMPACT =
  "calls are made twice, the second time with the whole script: slower, and more work for the server";
const FIX =
  "find who runs SCRIPT FLUSH, or EVAL with scripts that are always new; ACL SETUSER ... -script|flush forbids it; CONFIG RESETSTAT begins the count anew";

export const scriptCache: Check = {
  name: "script-cache",
  ...eachServer((server) =>
    ifKnown(server.scriptCache, ({ watchedMs, lostAfterMs }) => {
      if (lostAfterMs === undefined) return checkStatistics(server, watchedMs);
      const message = `the server forgot a script within ${lostAfterMs} ms`;
      return { status: "warning", message, impact: IMPACT, fix: FIX };
    }),
  ),
};

function checkStatistics({ info }: ServerFacts, watched: number): Finding {
  const kept = `a script was kept for ${watched} ms`;
  if (info instanceof UnknownFact) return { status: "ok", message: kept };
  const flushes = partOf(info, "cmdstat_script|flush", "calls");
  const uptime = numberOf(info, "uptime_in_seconds") ?? 0;
  if (flushes >= MIN_FLUSHES && uptime / flushes < MIN_FLUSH_INTERVAL_SECONDS) {
    const message = `SCRIPT FLUSH ran ${pluralize(flushes, "time")} in ${formatSpan(1_000 * uptime)}`;
    return { status: "warning", message, impact: IMPACT, fix: FIX };
  }
  const [calls, misses] = cacheMissesOf(info);
  if (misses >= MIN_MISSES && misses > MAX_MISS_SHARE * calls) {
    const message = `${pluralize(misses, "call")} of ${pluralize(calls, "EVALSHA", "EVALSHA")} found that the server had forgotten the script`;
    return { status: "warning", message, impact: IMPACT, fix: FIX };
  }
  const cached = numberOf(info, "number_of_cached_scripts");
  return { status: "ok", message: cached === undefined ? kept : `${kept}; ${cached} in the cache` };
}

/** Since the start, or since the statistics were reset: calls by digest, and those of unknown scripts. */
function cacheMissesOf(info: Info): readonly [calls: number, again: number] {
  return [partOf(info, "cmdstat_evalsha", "calls"), partOf(info, "errorstat_NOSCRIPT", "count")];
}
