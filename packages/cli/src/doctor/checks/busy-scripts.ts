import { commandAt } from "../command-at.ts";
import { numberIn } from "../facts/info.ts";
import { Unknown } from "../facts/unknown.ts";
import type { Check } from "../finding.ts";
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
