import { counted } from "../../output/number.ts";
import { formatSpan } from "../../output/time.ts";
import { commandAt } from "../command-at.ts";
import { Unknown } from "../facts/fact.ts";
import type { ServerFacts } from "../facts/facts.ts";
import type { Info } from "../facts/info.ts";
import { numberIn, partIn } from "../facts/info.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";

/** The server's own default, in milliseconds. */
const USUAL = 5_000;

export const busyScripts: Check = {
  name: "busy-scripts",
  ...eachServer((server) => {
    if (server.config instanceof Unknown && server.config.why.startsWith("BUSY")) {
      return {
        status: "problem",
        found: "a script does not end, and the server answers nobody (BUSY)",
        means: "every decision is taken without Redis until it is ended",
        mend: "end it; where it has written already only SHUTDOWN NOSAVE helps",
        commands: [commandAt(server, "SCRIPT", "KILL")],
      };
    }
    return ifKnown(server.config, (config) => {
      // The name is another one before Redis 7.
      const name = "busy-reply-threshold" in config ? "busy-reply-threshold" : "lua-time-limit";
      const threshold = numberIn(config, name) ?? USUAL;
      const found = `${name} ${threshold} ms`;
      if (threshold > 0 && threshold <= USUAL) return { status: "ok", found };
      return {
        status: "note",
        found,
        means:
          "a script that hangs can be ended only after that time, and nobody is answered meanwhile",
        mend: "let it be ended sooner; write it into the server's configuration as well",
        commands: [commandAt(server, "CONFIG", "SET", name, String(USUAL))],
      };
    });
  }),
};

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
    const found = `SCRIPT FLUSH ran ${counted(flushes, "time")} in ${formatSpan(1_000 * uptime)}`;
    return { status: "warning", found, means: MEANS, mend: MEND };
  }
  const [calls, again] = callsOf(info);
  if (again >= CALLS && again > SHARE * calls) {
    const found = `${counted(again, "call")} of ${counted(calls, "EVALSHA", "EVALSHA")} found that the server had forgotten the script`;
    return { status: "warning", found, means: MEANS, mend: MEND };
  }
  const cached = numberIn(info, "number_of_cached_scripts");
  return { status: "ok", found: cached === undefined ? kept : `${kept}; ${cached} in the cache` };
}

/** Since the start, or since the statistics were reset: calls by digest, and those of unknown scripts. */
function callsOf(info: Info): readonly [calls: number, again: number] {
  return [partIn(info, "cmdstat_evalsha", "calls"), partIn(info, "errorstat_NOSCRIPT", "count")];
}
