import { pluralize } from "../../output/number.ts";
import { UnknownFact } from "../facts/fact.ts";
import type { ServerFacts } from "../facts/facts.ts";
import type { Info } from "../facts/info.ts";
import { numberOf } from "../facts/info.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";
import { redisCliCommand } from "../redis-cli-command.ts";

const HIGH_SHARE = 0.8;

export const connections: Check = {
  name: "connections",
  ...eachServer((server) => ifKnown(server.info, (fields) => checkConnections(server, fields))),
};

function checkConnections(server: ServerFacts, fields: Info): Finding {
  const open = numberOf(fields, "connected_clients") ?? 0;
  const config = server.config instanceof UnknownFact ? {} : server.config;
  const max = numberOf(fields, "maxclients") ?? numberOf(config, "maxclients");
  const rejected = numberOf(fields, "rejected_connections") ?? 0;
  if (max === undefined) return { status: "ok", message: pluralize(open, "connection") };
  const message = `${open} of ${pluralize(max, "connection")} open, ${rejected} rejected since the start`;
  if (open / max >= HIGH_SHARE) {
    return {
      status: "warning",
      message,
      impact: "at the limit, further processes cannot connect, and decide without Redis",
      fix: "find out with CLIENT LIST which clients open so many, or raise maxclients; change it in the server's configuration file as well",
      commands: [redisCliCommand(server, "CONFIG", "SET", "maxclients", String(max * 2))],
    };
  }
  if (rejected === 0) return { status: "ok", message };
  const impact = "processes whose connections were rejected decided without Redis";
  return { status: "note", message, impact };
}

export const idleConnections: Check = {
  name: "idle-connections",
  ...eachServer((server) =>
    ifKnown(server.config, (config) => {
      const timeout = numberOf(config, "timeout") ?? 0;
      const keepAlive = numberOf(config, "tcp-keepalive") ?? 0;
      const message = `timeout ${timeout}, tcp-keepalive ${keepAlive}`;
      const permanently = "change it in the server's configuration file as well";
      if (timeout > 0) {
        return {
          status: "note",
          message,
          impact: `the server closes connections that are idle for ${timeout} s: the next request waits for a new one, or is decided without Redis`,
          fix: `keep idle connections open; ${permanently}`,
          commands: [redisCliCommand(server, "CONFIG", "SET", "timeout", "0")],
        };
      }
      if (keepAlive > 0) return { status: "ok", message };
      return {
        status: "note",
        message,
        impact: "the server does not notice dead connections, which still count towards maxclients",
        fix: `let the server probe idle connections; ${permanently}`,
        commands: [redisCliCommand(server, "CONFIG", "SET", "tcp-keepalive", "300")],
      };
    }),
  ),
};
