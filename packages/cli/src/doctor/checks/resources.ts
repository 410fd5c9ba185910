import { formatBytes, pluralize } from "@headgate/replay/internal";
import type { Info, ServerFacts } from "../facts/facts.ts";
import { numberOf, UnknownFact } from "../facts/facts.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, fixSetting, redisCliCommand } from "../finding.ts";

const HIGH_SHARE = 0.8;
const FULL_SHARE = 0.95;

export const memory: Check = eachServer("memory", "info", (fields, server) => {
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
  const fix = fixSetting(
    server,
    "free memory, or raise maxmemory if the machine has enough",
    "maxmemory",
    `${wanted}mb`,
  );
  if (fields["maxmemory_policy"] !== "noeviction") {
    const impact =
      "when memory is full, counters are evicted: an evicted subject gets its whole limit again";
    return { status: "note", message, impact, ...fix };
  }
  if (share < FULL_SHARE) {
    const impact =
      "when memory is full, writes are refused (OOM), and decisions are made without Redis";
    return { status: "warning", message, impact, ...fix };
  }
  const impact = "writes are refused (OOM), or will be soon: decisions are made without Redis then";
  return { status: "problem", message, impact, ...fix };
});

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

export const eviction: Check = eachServer("eviction", "info", (fields, server) => {
  const policy = fields["maxmemory_policy"] ?? "unknown";
  const evicted = numberOf(fields, "evicted_keys") ?? 0;
  const hasLimit = (numberOf(fields, "maxmemory") ?? 0) > 0;
  const message = `maxmemory-policy ${policy}, ${hasLimit ? "" : "no maxmemory, "}${evicted} keys evicted since the start`;
  const fix = fixSetting(
    server,
    `use ${BEST_POLICY}, which evicts the keys that expire soonest`,
    "maxmemory-policy",
    BEST_POLICY,
  );
  if (policy.startsWith("allkeys-")) {
    const impact =
      "when memory is full, counters, blocks and overrides are evicted: an evicted subject gets its whole limit again";
    return { status: "warning", message, impact, ...fix };
  }
  if (policy === BEST_POLICY || policy === "noeviction") {
    if (evicted === 0) return { status: "ok", message };
    const impact = "evicted subjects got their whole limit again";
    return { status: "note", message, impact, fix: "raise maxmemory" };
  }
  const impact =
    "when memory is full, any counter may be evicted, because all of them have an expiry";
  return { status: "note", message, impact, ...fix };
});

export const persistence: Check = eachServer("persistence", "info", (fields, server) => {
  const config = server.config instanceof UnknownFact ? {} : server.config;
  if (fields["aof_enabled"] === "1") return checkAppendOnlyFile(server, fields, config);
  if (refusesWrites(fields, config)) {
    return {
      status: "problem",
      message: "the last snapshot failed, and stop-writes-on-bgsave-error is on",
      impact: "writes are refused (MISCONF): every decision is made without Redis",
      fix: "free disk space, check the server's log, and run BGSAVE; or accept writes without snapshots",
      commands: [redisCliCommand(server, "CONFIG", "SET", "stop-writes-on-bgsave-error", "no")],
    };
  }
  const changes = numberOf(fields, "rdb_changes_since_last_save") ?? 0;
  if (config["save"] === "") {
    return {
      status: "note",
      message: "nothing is stored on disk",
      impact: "a restart resets all limits, and removes blocks and overrides",
      ...fixSetting(server, "accept that, or turn on the append-only file", "appendonly", "yes"),
    };
  }
  const message = `snapshots, ${config["save"] === undefined ? "" : `save ${config["save"]}, `}${pluralize(changes, "change")} since the last`;
  return { status: "ok", message };
});

function checkAppendOnlyFile(
  server: ServerFacts,
  fields: Info,
  config: Readonly<Record<string, string>>,
): Finding {
  const policy = config["appendfsync"];
  const message = `append-only file${policy === undefined ? "" : `, appendfsync ${policy}`}`;
  if (fields["aof_last_write_status"] === "err") {
    return {
      status: "problem",
      message: "the last write to the append-only file failed",
      impact: "writes are refused (MISCONF): every decision is made without Redis",
      fix: "free disk space, and check the server's log",
    };
  }
  if (policy !== "always") return { status: "ok", message };
  return {
    status: "note",
    message,
    impact: "each decision waits for the disk",
    ...fixSetting(
      server,
      "use everysec, which loses at most one second of counts",
      "appendfsync",
      "everysec",
    ),
  };
}

function refusesWrites(fields: Info, config: Readonly<Record<string, string>>): boolean {
  return (
    fields["rdb_last_bgsave_status"] === "err" &&
    config["stop-writes-on-bgsave-error"] !== "no" &&
    config["save"] !== ""
  );
}

export const connections: Check = eachServer("connections", "info", (fields, server) => {
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
      ...fixSetting(
        server,
        "find out with CLIENT LIST which clients open so many, or raise maxclients",
        "maxclients",
        max * 2,
      ),
    };
  }
  if (rejected === 0) return { status: "ok", message };
  const impact = "processes whose connections were rejected decided without Redis";
  return { status: "note", message, impact };
});

export const idleConnections: Check = eachServer("idle-connections", "config", (config, server) => {
  const timeout = numberOf(config, "timeout") ?? 0;
  const keepAlive = numberOf(config, "tcp-keepalive") ?? 0;
  const message = `timeout ${timeout}, tcp-keepalive ${keepAlive}`;
  if (timeout > 0) {
    return {
      status: "note",
      message,
      impact: `the server closes connections that are idle for ${timeout} s: the next request waits for a new one, or is decided without Redis`,
      ...fixSetting(server, "keep idle connections open", "timeout", 0),
    };
  }
  if (keepAlive > 0) return { status: "ok", message };
  return {
    status: "note",
    message,
    impact: "the server does not notice dead connections, which still count towards maxclients",
    ...fixSetting(server, "let the server probe idle connections", "tcp-keepalive", 300),
  };
});
