import { formatBytes } from "../../output/number.ts";
import { commandAt } from "../command-at.ts";
import type { ServerFacts } from "../facts/facts.ts";
import type { Info } from "../facts/info.ts";
import { numberIn } from "../facts/info.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";

const MUCH = 0.8;
const FULL = 0.95;

export const memory: Check = {
  name: "memory",
  ...eachServer((server) => ifKnown(server.info, (fields) => judge(server, fields))),
};

function judge(server: ServerFacts, fields: Info): Finding {
  const used = numberIn(fields, "used_memory") ?? 0;
  const most = numberIn(fields, "maxmemory") ?? 0;
  const machine = numberIn(fields, "total_system_memory") ?? 0;
  if (most === 0) return judgeWithout(used, machine);
  const counted = used - (numberIn(fields, "mem_not_counted_for_evict") ?? 0);
  const share = counted / most;
  const found = `${formatBytes(counted)} of ${formatBytes(most)} used, ${Math.round(share * 100)} %`;
  if (share < MUCH) return { status: "ok", found };
  // Twice what is there now, in whole megabytes.
  const wanted = Math.ceil((2 * Math.max(counted, most)) / 2 ** 20);
  const commands = [commandAt(server, "CONFIG", "SET", "maxmemory", `${wanted}mb`)];
  const mend =
    "free memory, or raise maxmemory, if the machine has enough; write it into the server's configuration as well";
  if (fields["maxmemory_policy"] !== "noeviction") {
    const means =
      "when memory is full, counters are evicted: a subject that is evicted gets its whole limit again";
    return { status: "note", found, means, mend, commands };
  }
  if (share < FULL) {
    const means =
      "when memory is full, writes are refused (OOM), and decisions are taken without Redis";
    return { status: "warning", found, means, mend, commands };
  }
  const means = "writes are refused (OOM), or will be soon: decisions are taken without Redis then";
  return { status: "problem", found, means, mend, commands };
}

function judgeWithout(used: number, machine: number): Finding {
  const found = `${formatBytes(used)} used, no maxmemory`;
  if (machine === 0 || used / machine < MUCH) return { status: "ok", found };
  return {
    status: "warning",
    found: `${found}, on a machine of ${formatBytes(machine)}`,
    means: "the system may end the server when memory is full, and limits begin anew",
    mend: "set maxmemory below what the machine has",
  };
}

/** It evicts what is about to expire anyway. */
const BEST = "volatile-ttl";

export const eviction: Check = {
  name: "eviction",
  ...eachServer((server) =>
    ifKnown(server.info, (fields) => {
      const policy = fields["maxmemory_policy"] ?? "unknown to INFO";
      const evicted = numberIn(fields, "evicted_keys") ?? 0;
      const hasLimit = (numberIn(fields, "maxmemory") ?? 0) > 0;
      const found = `maxmemory-policy ${policy}, ${hasLimit ? "" : "no maxmemory, "}${evicted} keys evicted since the start`;
      const commands = [commandAt(server, "CONFIG", "SET", "maxmemory-policy", BEST)];
      const mend = `${BEST} evicts first what is about to expire anyway; write it into the server's configuration as well`;
      if (policy.startsWith("allkeys-")) {
        const means =
          "when memory is full, counters, blocks and overrides are evicted: a subject that is evicted gets its whole limit again";
        return { status: "warning", found, means, mend, commands };
      }
      if (policy === BEST || policy === "noeviction") {
        if (evicted === 0) return { status: "ok", found };
        const means = "subjects that were evicted got their whole limit again";
        return { status: "note", found, means, mend: "raise maxmemory" };
      }
      const means = "when memory is full, any counter may be evicted: all of them expire";
      return { status: "note", found, means, mend, commands };
    }),
  ),
};
