import type {
  BlockRow,
  DenyListRow,
  LogRow,
  OverrideRow,
} from "../../../../packages/dashboard/src/api.ts";

const MINUTE = 60_000;
const HOUR = 3_600_000;

export function overridesAt(at: number): readonly OverrideRow[] {
  return [
    {
      id: "o1",
      limiter: "api",
      subject: { user: "partner-7" },
      change: "per-user: limit 2,400",
      from: at - 3 * HOUR,
      until: at + 5 * HOUR,
      by: "ann@example.com",
      reason: "Migration weekend, OPS-2231",
      coverage: "in-force",
      appliedBy: 6,
      ignoredReasons: [],
    },
    {
      id: "o2",
      limiter: "search",
      change: "search: refill 12",
      from: at - 40 * MINUTE,
      until: at + 80 * MINUTE,
      by: "bob@example.com",
      reason: "Campaign went out early",
      coverage: "partial",
      appliedBy: 4,
      ignoredReasons: ["2 processes have no limit named search in this limiter"],
    },
    {
      id: "o3",
      limiter: "checkout",
      change: "per-card: limit 30",
      from: at - 26 * HOUR,
      until: null,
      by: "deploy-bot",
      reason: "Sale",
      coverage: "ignored",
      appliedBy: 0,
      ignoredReasons: ["It names the limit per-card, which checkout does not have"],
    },
  ];
}

export function blocksAt(at: number): readonly BlockRow[] {
  return [
    {
      id: "b1",
      limiter: "login",
      subject: { default: "203.0.113.250" },
      until: at + 11 * MINUTE,
      limit: "5-per-15m",
    },
    {
      id: "b2",
      limiter: "export",
      subject: { user: "acme-batch-import" },
      until: at + 23 * HOUR,
      by: "ann@example.com",
      reason: "Runs the same export every minute, OPS-2240",
    },
    {
      id: "b3",
      limiter: "signup",
      subject: { default: "2001:db8:42:7::/64" },
      until: at + 38 * MINUTE,
      limit: "3-per-1h",
    },
  ];
}

export function deniedAt(at: number): readonly DenyListRow[] {
  return [
    {
      id: "d1",
      network: "192.0.2.0/24",
      from: at - 9 * HOUR,
      until: at + 15 * HOUR,
      by: "bob@example.com",
      reason: "Credential stuffing, abuse case 118",
    },
    {
      id: "d2",
      network: "198.51.100.99",
      from: at - 20 * 24 * HOUR,
      until: null,
      by: "ann@example.com",
    },
  ];
}

export function logAt(at: number): readonly LogRow[] {
  return [...latestAt(at), ...earlierAt(at)];
}

function latestAt(at: number): readonly LogRow[] {
  return [
    {
      at: at - 40 * MINUTE,
      kind: "setOverride",
      limiter: "search",
      by: "bob@example.com",
      reason: "Campaign went out early",
      before: "no override",
      after: "search: refill 12, for 2 h",
    },
    {
      at: at - 50 * MINUTE,
      kind: "block",
      limiter: "export",
      subject: { user: "acme-batch-import" },
      by: "ann@example.com",
      reason: "Runs the same export every minute, OPS-2240",
      before: "2-at-a-time: 2 of 2 used, 0 left",
      after: "2-at-a-time: 2 of 2 used, 0 left\nblocked for 24 h",
    },
    {
      at: at - 3 * HOUR,
      kind: "setOverride",
      limiter: "api",
      subject: { user: "partner-7" },
      by: "ann@example.com",
      reason: "Migration weekend, OPS-2231",
      before: "no override",
      after: "per-user: limit 2,400, for 8 h",
    },
  ];
}

function earlierAt(at: number): readonly LogRow[] {
  return [
    {
      at: at - 8 * HOUR,
      kind: "breaker",
      limiter: "payments",
      subject: { target: "https://pay.example.net" },
      by: "ann@example.com",
      reason: "Provider maintenance",
      before: "closed",
      after: "forced open for 30 min",
    },
    {
      at: at - 9 * HOUR,
      kind: "addToDenyList",
      network: "192.0.2.0/24",
      by: "bob@example.com",
      reason: "Credential stuffing, abuse case 118",
      before: "not on the list",
      after: "on the list for 24 h",
    },
    {
      at: at - 15 * HOUR,
      kind: "forget",
      limiter: "api",
      subject: { user: "~forgotten~k3Xq" },
      by: "privacy-job",
    },
    {
      at: at - 26 * HOUR,
      kind: "setOverride",
      limiter: "checkout",
      by: "deploy-bot",
      reason: "Sale",
      before: "no override",
      after: "per-card: limit 30, until it is removed",
    },
    {
      at: at - 30 * HOUR,
      kind: "unblock",
      limiter: "login",
      subject: { default: "198.51.100.23" },
      by: "carol@example.com",
      reason: "Office address, forgot the new password",
      before: "blocked by 5-per-15m for 9 min",
      after: "not blocked",
    },
  ];
}
