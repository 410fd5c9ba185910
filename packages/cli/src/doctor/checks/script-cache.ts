import type { ServerFacts } from "../facts/facts.ts";
import type { Info } from "../facts/info.ts";
import { numberIn, partIn } from "../facts/info.ts";
import { Unknown } from "../facts/unknown.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";
import { count, formatSeconds } from "../format-numbers.ts";

/** Flushed more often than once in so many seconds, on average, and so many times at least. */
const OFTEN = 3_600;
const SEVERAL = 3;

/** More than one call in twenty met a forgotten script, and so many at least: after a restart some hundred calls at once do. */
const SHARE = 0.05;
const CALLS = 1_000;

const MEANS =
  "calls are made twice, the second time with the whole script: slower, and more work for the server";
const MEND =
  "find who runs SCRIPT FLUSH, or EVAL with scripts that are always new; ACL SETUSER ... -script|flush forbids it; CONFIG RESETSTAT begins the count anew";

export const scriptCache: Check = {
  name: "script-cache",
  ...eachServer((server) =>
    ifKnown(server.scripts, ({ watched, lostAfter }) => {
      if (lostAfter === undefined) return judgeCounts(server, watched);
      const found = `the server forgot a script within ${lostAfter} ms`;
      return { status: "warning", found, means: MEANS, mend: MEND };
    }),
  ),
};

function judgeCounts({ info }: ServerFacts, watched: number): Finding {
  const kept = `a script was kept for ${watched} ms`;
  if (info instanceof Unknown) return { status: "ok", found: kept };
  const flushes = partIn(info, "cmdstat_script|flush", "calls");
  const uptime = numberIn(info, "uptime_in_seconds") ?? 0;
  if (flushes >= SEVERAL && uptime / flushes < OFTEN) {
    const found = `SCRIPT FLUSH ran ${count(flushes, "time")} in ${formatSeconds(uptime)}`;
    return { status: "warning", found, means: MEANS, mend: MEND };
  }
  const [calls, again] = callsOf(info);
  if (again >= CALLS && again > SHARE * calls) {
    const found = `${count(again, "call")} of ${count(calls, "EVALSHA", "EVALSHA")} found that the server had forgotten the script`;
    return { status: "warning", found, means: MEANS, mend: MEND };
  }
  const cached = numberIn(info, "number_of_cached_scripts");
  return { status: "ok", found: cached === undefined ? kept : `${kept}; ${cached} in the cache` };
}

/** Since the start, or since the statistics were reset: calls by digest, and those of unknown scripts. */
function callsOf(info: Info): readonly [calls: number, again: number] {
  return [partIn(info, "cmdstat_evalsha", "calls"), partIn(info, "errorstat_NOSCRIPT", "count")];
}
