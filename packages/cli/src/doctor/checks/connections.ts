import { counted } from "../../output/number.ts";
import { commandAt } from "../command-at.ts";
import { Unknown } from "../facts/fact.ts";
import type { ServerFacts } from "../facts/facts.ts";
import type { Info } from "../facts/info.ts";
import { numberIn } from "../facts/info.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";

const MANY = 0.8;

export const connections: Check = {
  name: "connections",
  ...eachServer((server) => ifKnown(server.info, (fields) => judge(server, fields))),
};

function judge(server: ServerFacts, fields: Info): Finding {
  const open = numberIn(fields, "connected_clients") ?? 0;
  const config = server.config instanceof Unknown ? {} : server.config;
  const most = numberIn(fields, "maxclients") ?? numberIn(config, "maxclients");
  const rejected = numberIn(fields, "rejected_connections") ?? 0;
  if (most === undefined) return { status: "ok", found: counted(open, "connection") };
  const found = `${open} of ${counted(most, "connection")} open, ${rejected} rejected since the start`;
  if (open / most >= MANY) {
    return {
      status: "warning",
      found,
      means: "a process that finds no room cannot connect, and decides without Redis",
      mend: "find who opens so many, as CLIENT LIST shows, or raise maxclients; write it into the server's configuration as well",
      commands: [commandAt(server, "CONFIG", "SET", "maxclients", String(most * 2))],
    };
  }
  if (rejected === 0) return { status: "ok", found };
  const means = "processes that were rejected decided without Redis";
  return { status: "note", found, means };
}

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
