import { formatBytes } from "../../output/number.ts";
import type { ServerFacts } from "../facts/facts.ts";
import type { Info } from "../facts/info.ts";
import { numberOf } from "../facts/info.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";
import { redisCliCommand } from "../redis-cli-command.ts";

const HIGH_SHARE = 0.8;
const FULL_SHARE = 0.95;

export const memory: Check = {
  name: "memory",
  ...eachServer((server) => ifKnown(server.info, (fields) => checkMemory(server, fields))),
};

function checkMemory(server: ServerFacts, fields: Info): Finding {
  const used = numberOf(fields, "used_memory") ?? 0;
  const max = numberOf(fields, "maxmemory") ?? 0;
  const machine = numberOf(fields, "total_system_memory") ?? 0;
  if (max === 0) return checkWithoutMaxmemory(used, machine);
  const usedForEviction = used - (numberOf(fields, "mem_not_counted_for_evict") ?? 0);
  const share = usedForEviction / max;
  const message = `${formatBytes(usedForEviction)} of ${formatBytes(max)} used, ${Math.round(share * 100)} %`;
  if (share < HIGH_SHARE) return { status: "ok", message };
  // Twice the present size, in whole megabytes.
  const wanted = Math.ceil((2 * Math.max(usedForEviction, max)) / 2 ** 20);
  const commands = [redisCliCommand(server, "CONFIG", "SET", "maxmemory", `${wanted}mb`)];
  const fix =
    "free memory, or raise maxmemory if the machine has enough; change it in the server's configuration file as well";
  if (fields["maxmemory_policy"] !== "noeviction") {
    const impact =
      "when memory is full, counters are evicted: an evicted subject gets its whole limit again";
    return { status: "note", message, impact, fix, commands };
  }
  if (share < FULL_SHARE) {
    const impact =
      "when memory is full, writes are refused (OOM), and decisions are made without Redis";
    return { status: "warning", message, impact, fix, commands };
  }
  const impact = "writes are refused (OOM), or will be soon: decisions are made without Redis then";
  return { status: "problem", message, impact, fix, commands };
}

function checkWithoutMaxmemory(used: number, machine: number): Finding {
  const message = `${formatBytes(used)} used, no maxmemory`;
  if (machine === 0 || used / machine < HIGH_SHARE) return { status: "ok", message };
  return {
    status: "warning",
    message: `${message}, on a machine of ${formatBytes(machine)}`,
    impact: "the operating system may kill the server when memory is full, which resets all limits",
    fix: "set maxmemory below the memory of the machine",
  };
}

/** This policy evicts the keys that expire soonest. */
const BEST_POLICY = "volatile-ttl";

export const eviction: Check = {
  name: "eviction",
  ...eachServer((server) =>
    ifKnown(server.info, (fields) => {
      const policy = fields["maxmemory_policy"] ?? "unknown";
      const evicted = numberOf(fields, "evicted_keys") ?? 0;
      const hasLimit = (numberOf(fields, "maxmemory") ?? 0) > 0;
      const message = `maxmemory-policy ${policy}, ${hasLimit ? "" : "no maxmemory, "}${evicted} keys evicted since the start`;
      const commands = [redisCliCommand(server, "CONFIG", "SET", "maxmemory-policy", BEST_POLICY)];
      const fix = `use ${BEST_POLICY}, which evicts the keys that expire soonest; change it in the server's configuration file as well`;
      if (policy.startsWith("allkeys-")) {
        const impact =
          "when memory is full, counters, blocks and overrides are evicted: an evicted subject gets its whole limit again";
        return { status: "warning", message, impact, fix, commands };
      }
      if (policy === BEST_POLICY || policy === "noeviction") {
        if (evicted === 0) return { status: "ok", message };
        const impact = "evicted subjects got their whole limit again";
        return { status: "note", message, impact, fix: "raise maxmemory" };
      }
      const impact =
        "when memory is full, any counter may be evicted, because all of them have an expiry";
      return { status: "note", message, impact, fix, commands };
    }),
  ),
};
