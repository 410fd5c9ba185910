import { counted, formatBytes } from "../../output/number.ts";
import { commandAt } from "../command-at.ts";
import type { ServerFacts } from "../facts/facts.ts";
import type { Info } from "../facts/info.ts";
import { numberIn } from "../facts/info.ts";
import { readReplica } from "../facts/open-servers.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";

export const role: Check = {
  name: "role",
  ...eachServer(({ info, decides }) =>
    ifKnown(info, (fields) => {
      const isReplica = fields["role"] === "slave";
      if (!isReplica) return { status: "ok", found: "a primary" };
      const primary = `${fields["master_host"]}:${fields["master_port"]}`;
      if (!decides) return { status: "ok", found: `a replica of ${primary}` };
      return {
        status: "problem",
        found: `a replica of ${primary}`,
        means: "it refuses writes (READONLY): every decision is taken without Redis",
        mend: `connect to the primary, ${primary}, or let the client ask Sentinels`,
      };
    }),
  ),
};

/** A replica is silent that did not answer for so many seconds, and behind by so many bytes. */
const SILENT = 10;
const BEHIND = 2 ** 20;

const MEND = "see the replica's log and the network between";

export const replicas: Check = {
  name: "replicas",
  ...eachServer((server) =>
    ifKnown(server.info, (fields) =>
      fields["role"] === "slave" ? judgeReplica(fields) : judgePrimary(server, fields),
    ),
  ),
};

function judgeReplica(fields: Info): Finding {
  const primary = `${fields["master_host"]}:${fields["master_port"]}`;
  if (fields["master_link_status"] === "up") {
    return { status: "ok", found: `connected to ${primary}` };
  }
  return {
    status: "warning",
    found: `not connected to its primary ${primary}`,
    means: "it has not heard of the latest counts: if it becomes the primary, they are lost",
    mend: MEND,
  };
}

function judgePrimary({ decides }: ServerFacts, fields: Info): Finding {
  const lines = Object.keys(fields).filter((field) => /^slave\d+$/.test(field));
  if (lines.length === 0 || !decides) return { status: "ok", found: "no replicas" };
  const offset = numberIn(fields, "master_repl_offset") ?? 0;
  const all = lines.map((field) => readReplica(fields[field] as string));
  const behind = Math.max(...all.map((one) => offset - Number(one["offset"])));
  const lag = Math.max(...all.map((one) => Number(one["lag"])));
  const found = `${counted(all.length, "replica")}, at most ${formatBytes(Math.max(0, behind))} behind, last heard ${lag} s ago`;
  const bad = all.filter((one) => one["state"] !== "online" || Number(one["lag"]) > SILENT);
  if (bad.length === 0 && behind <= BEHIND) return { status: "ok", found };
  const names = bad.map(({ host, port, state }) => `${host}:${port} (${state})`).join(", ");
  return {
    status: "warning",
    found: bad.length === 0 ? found : `${found}; not in order: ${names}`,
    means:
      "a failover loses what the replica has not received: what was counted there is admitted again",
    mend: MEND,
  };
}

export const minReplicas: Check = {
  name: "min-replicas",
  ...eachServer((server) =>
    ifKnown(server.info, (fields) => {
      if (fields["role"] === "slave") return { status: "ok", found: "a replica" };
      // INFO has it only where it is asked for.
      const good = numberIn(fields, "min_slaves_good_slaves");
      if (good === undefined) return { status: "ok", found: "writes need no replica" };
      return ifKnown(server.config, (config) => {
        const wanted = Number(config["min-replicas-to-write"]);
        const found = `min-replicas-to-write ${wanted}, ${good} in order`;
        if (good > wanted) return { status: "ok", found };
        if (good === wanted) {
          const means =
            "if one replica more is lost, writes are refused, and decisions are taken without Redis";
          return { status: "note", found, means, mend: "add a replica" };
        }
        return {
          status: "problem",
          found,
          means: "writes are refused (NOREPLICAS): every decision is taken without Redis",
          mend: "bring the replicas back; or take writes without them, which a failover may lose",
          commands: [commandAt(server, "CONFIG", "SET", "min-replicas-to-write", String(good))],
        };
      });
    }),
  ),
};
