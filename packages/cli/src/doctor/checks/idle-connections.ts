import { commandAt } from "../command-at.ts";
import { numberIn } from "../facts/info.ts";
import type { Check } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";

export const idleConnections: Check = {
  name: "idle-connections",
  ...eachServer((server) =>
    ifKnown(server.config, (config) => {
      const timeout = numberIn(config, "timeout") ?? 0;
      const keepAlive = numberIn(config, "tcp-keepalive") ?? 0;
      const found = `timeout ${timeout}, tcp-keepalive ${keepAlive}`;
      const permanently = "write it into the server's configuration as well";
      if (timeout > 0) {
        return {
          status: "note",
          found,
          means: `the server ends a connection that was idle for ${timeout} s: the next request waits for a new one, or is decided without Redis`,
          mend: `do not end idle connections; ${permanently}`,
          commands: [commandAt(server, "CONFIG", "SET", "timeout", "0")],
        };
      }
      if (keepAlive > 0) return { status: "ok", found };
      return {
        status: "note",
        found,
        means:
          "a connection that died on the way is not noticed, and keeps its place among the connections",
        mend: `let the server check them; ${permanently}`,
        commands: [commandAt(server, "CONFIG", "SET", "tcp-keepalive", "300")],
      };
    }),
  ),
};
