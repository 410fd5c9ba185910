import { commandAt } from "../command-at.ts";
import type { ServerFacts } from "../facts/facts.ts";
import type { Info } from "../facts/info.ts";
import { numberIn } from "../facts/info.ts";
import { Unknown } from "../facts/unknown.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";
import { count } from "../format-numbers.ts";

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
  if (most === undefined) return { status: "ok", found: count(open, "connection") };
  const found = `${open} of ${count(most, "connection")} open, ${rejected} rejected since the start`;
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
