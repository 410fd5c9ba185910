import type { Recording } from "../../../../packages/dashboard/page/src/client/recorded-source.ts";
import type {
  ActionPreview,
  BreakersView,
  RedisView,
} from "../../../../packages/dashboard/src/api.ts";
import type { Span } from "../../../../packages/dashboard/src/counts.ts";
import { blocksAt, deniedAt, logAt, overridesAt } from "./control.ts";
import { limiterAt, overviewAt, SESSION } from "./fleet.ts";
import { LIMITERS } from "./limiters.ts";
import { subjectsAt } from "./subjects.ts";

/** A recording of a fictional fleet under attack, for the demo without a server, for pictures and for tests. */
export function recordingAt(at: number): Recording {
  const spans = <T>(of: (span: Span) => T): Record<Span, T> => ({
    "15m": of("15m"),
    "1h": of("1h"),
    "24h": of("24h"),
    "30d": of("30d"),
  });
  return {
    at,
    session: SESSION,
    overview: spans((span) => overviewAt(at, span)),
    limiters: Object.fromEntries(
      LIMITERS.map(({ name }) => [
        name,
        spans((span) => limiterAt(at, name, span) as NonNullable<ReturnType<typeof limiterAt>>),
      ]),
    ),
    subjects: subjectsAt(at),
    breakers: breakersAt(at),
    control: {
      at,
      overrides: overridesAt(at),
      blocks: blocksAt(at),
      hasAllBlocks: true,
      denyList: deniedAt(at),
    },
    log: { at, rows: logAt(at), next: null, unreadable: 1 },
    redis: redisAt(at),
    previews: previewsAt(at),
  };
}

function previewsAt(at: number): Readonly<Record<string, ActionPreview>> {
  const preview = (before: string, after: string, impact?: string): ActionPreview => ({
    before,
    after,
    at,
    effectiveAt: at + 2_000,
    token: "recorded",
    impact,
  });
  const used = "burst: 20 of 20 used, 0 left\n5-per-15m: 3 of 5 used, 2 left";
  const unused = "burst: 0 of 20 used, 20 left\n5-per-15m: 0 of 5 used, 5 left";
  return {
    block: preview(
      used,
      `${used}\nblocked for 1 h`,
      "It sent 412 requests a minute in the last 12 minutes, of which 371 were denied, and at least 655 in the last one.",
    ),
    unblock: preview(`${used}\nblocked for 23 h`, used),
    reset: preview(used, unused),
    forget: preview(`${used}\n1 override, 3 entries of the log`, unused),
    setOverride: preview(
      "no override",
      "burst: limit 200, for 1 h",
      "No listed client sent more than the new limits allow on average in the last hour; bursts may still be denied.\nIts limits denied 371 requests a minute in the last 4 minutes, and at least 612 in the last one.",
    ),
    unsetOverride: preview("per-user: limit 2,400, 5 h left", "no override"),
    addToDenyList: preview(
      "not on the list",
      "on the list for 24 h",
      "3 clients of the last hour are in it (203.0.113.250, 203.0.113.17, 203.0.113.99), with 431 requests a minute in the last 12 minutes, and at least 671 in the last one.",
    ),
    removeFromDenyList: preview("on the list, 15 h left", "not on the list"),
    breaker: preview("closed", "forced open for 10 min"),
  };
}

function breakersAt(at: number): BreakersView {
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

function redisAt(at: number): RedisView {
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
