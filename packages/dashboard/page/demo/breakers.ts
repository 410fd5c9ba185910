import type { BreakersView, RedisView } from "../../src/api.ts";

export function breakersAt(at: number): BreakersView {
  return {
    at,
    unreadable: 0,
    breakers: [
      {
        name: "payments",
        policy: ["opens when 50 % of at least 20 calls in 30 s fail; tries again after 20 s"],
        processes: 4,
        hasAllTargets: true,
        targets: [
          {
            target: "https://pay.example.net",
            state: "open",
            successRate: 0.31,
            calls: 412,
            until: at + 14_000,
          },
          {
            target: "https://pay-backup.example.net",
            state: "closed",
            successRate: 0.998,
            calls: 1_204,
          },
        ],
      },
      {
        name: "search-cluster",
        policy: ["opens after 5 failures in a row; tries again after 10 s"],
        processes: 6,
        hasAllTargets: false,
        targets: [
          { target: "search-a", state: "closed", successRate: 1, calls: 8_841 },
          {
            target: "search-b",
            state: "half-open",
            successRate: 0.5,
            calls: 12,
          },
          {
            target: "search-c",
            state: "forced-open",
            successRate: null,
            calls: 0,
            lastOrder: { at: at - 2_340_000, state: "forced-open", by: "ann@example.com" },
          },
        ],
      },
    ],
  };
}

export function redisAt(at: number): RedisView {
  return {
    at,
    latencyMs: 0.42,
    server: {
      version: "7.4.2",
      mode: "standalone",
      role: "master",
      uptimeSeconds: 3_542_000,
      clients: 24,
      memoryBytes: 40_055_603,
      maxMemoryBytes: 536_870_912,
      evictionPolicy: "allkeys-lru",
      evictedKeys: 1_204,
      commandsPerSecond: 812,
    },
    findings: [
      {
        level: "warning",
        title: "Redis evicts keys: maxmemory-policy is allkeys-lru",
        impact: "When memory is full, Redis drops counters, and clients get a fresh limit.",
        fix: "set maxmemory-policy to noeviction, or give Headgate a Redis of its own",
        docs: "headgate doctor --explain eviction",
      },
      {
        level: "note",
        title: "No replica is connected",
        impact: "Counters are lost with this server; limits then start anew.",
        docs: "headgate doctor --explain replicas",
      },
      { level: "ok", title: "Redis 7.4.2 has all that Headgate uses" },
      { level: "ok", title: "A round trip takes 0.42 ms (median of 20), 1.1 ms at most" },
      { level: "ok", title: "The clocks of Redis and this process differ by 3 ms" },
      { level: "ok", title: "The user may run all commands that Headgate uses" },
    ],
  };
}
