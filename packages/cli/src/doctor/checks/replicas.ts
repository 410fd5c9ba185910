import { formatBytes, pluralize } from "@headgate/replay/internal";
import type { Info, ServerFacts } from "../facts/facts.ts";
import { numberOf } from "../facts/facts.ts";
import { replicasOf } from "../facts/open-servers.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown, redisCliCommand } from "../finding.ts";

export const role: Check = eachServer("role", "info", (fields, { receivesDecisions }) => {
  if (fields["role"] !== "slave") return { status: "ok", message: "a primary" };
  const primary = `${fields["master_host"]}:${fields["master_port"]}`;
  if (!receivesDecisions) return { status: "ok", message: `a replica of ${primary}` };
  return {
    status: "problem",
    message: `a replica of ${primary}`,
    impact: "it refuses writes (READONLY): every decision is made without Redis",
    fix: `connect to the primary, ${primary}, or use Sentinels in the client`,
  };
});

/** A replica may be silent for this long, and lag behind by this many bytes. */
const MAX_SILENCE_SECONDS = 10;
const MAX_LAG_BYTES = 2 ** 20;

const FIX = "check the replica's log, and the network between the servers";

export const replicas: Check = eachServer("replicas", "info", (fields, server) =>
  fields["role"] === "slave" ? checkReplica(fields) : checkPrimary(server, fields),
);

function checkReplica(fields: Info): Finding {
  const primary = `${fields["master_host"]}:${fields["master_port"]}`;
  if (fields["master_link_status"] === "up") {
    return { status: "ok", message: `connected to ${primary}` };
  }
  return {
    status: "warning",
    message: `not connected to its primary ${primary}`,
    impact: "it lacks the latest counts, which are lost if it becomes the primary",
    fix: FIX,
  };
}

function checkPrimary({ receivesDecisions }: ServerFacts, fields: Info): Finding {
  const all = replicasOf(fields);
  if (all.length === 0 || !receivesDecisions) return { status: "ok", message: "no replicas" };
  const offset = numberOf(fields, "master_repl_offset") ?? 0;
  const behind = Math.max(...all.map((one) => offset - Number(one["offset"])));
  const lag = Math.max(...all.map((one) => Number(one["lag"])));
  const message = `${pluralize(all.length, "replica")}, at most ${formatBytes(Math.max(0, behind))} behind, last reply ${lag} s ago`;
  const unhealthy = all.filter(
    (one) => one["state"] !== "online" || Number(one["lag"]) > MAX_SILENCE_SECONDS,
  );
  if (unhealthy.length === 0 && behind <= MAX_LAG_BYTES) return { status: "ok", message };
  const names = unhealthy.map(({ host, port, state }) => `${host}:${port} (${state})`).join(", ");
  return {
    status: "warning",
    message: unhealthy.length === 0 ? message : `${message}; unhealthy: ${names}`,
    impact:
      "a failover loses the counts that the replica has not received, and these requests are admitted again",
    fix: FIX,
  };
}

export const minReplicas: Check = eachServer("min-replicas", "info", (fields, server) => {
  if (fields["role"] === "slave") return { status: "ok", message: "a replica" };
  // INFO has this field only if min-replicas-to-write is set.
  const good = numberOf(fields, "min_slaves_good_slaves");
  if (good === undefined) return { status: "ok", message: "writes need no replica" };
  return ifKnown(server.config, (config) => {
    const required = Number(config["min-replicas-to-write"]);
    const message = `min-replicas-to-write ${required}, ${good} healthy`;
    if (good > required) return { status: "ok", message };
    if (good === required) {
      const impact =
        "if one more replica fails, writes are refused, and decisions are made without Redis";
      return { status: "note", message, impact, fix: "add a replica" };
    }
    return {
      status: "problem",
      message,
      impact: "writes are refused (NOREPLICAS): every decision is made without Redis",
      fix: "bring the replicas back; or accept writes without them, which a failover may lose",
      commands: [redisCliCommand(server, "CONFIG", "SET", "min-replicas-to-write", String(good))],
    };
  });
});
