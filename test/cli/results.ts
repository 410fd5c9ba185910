import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Limit, Policy } from "@headgate/core";
import { createLimiter, gcra, memoryStore, slidingLog } from "@headgate/core";
import type { DeniedClient, PolicyResult, Recommendation, ReplayResult } from "@headgate/replay";
import { describePolicy } from "../../packages/replay/src/replay/describe-policy.ts";

const SAMPLE = join(import.meta.dirname, "../../examples/access-log/sample.log");

const COLUMN_MS = 300_000;

const POLICIES: Readonly<Record<string, Policy>> = {
  "30 a minute": gcra({ limit: 30, window: "1m" }),
  "10 in 10 seconds": gcra({ limit: 10, window: "10s" }),
  "100 an hour": slidingLog({ limit: 100, window: "1h" }),
};

interface Request {
  readonly client: string;
  readonly time: number;
}

/** What policies do to the sample log, worked out with nothing of the replay's. */
export async function sampleResult(): Promise<ReplayResult> {
  const lines = readFileSync(SAMPLE, "utf8").trimEnd().split("\n");
  const requests = lines.flatMap(readLine).sort((a, b) => a.time - b.time);
  const [first, last] = [requests.at(0) as Request, requests.at(-1) as Request];
  const columns = columnOf(last.time - first.time) + 1;
  const policies: PolicyResult[] = [];
  for (const [name, limits] of Object.entries(POLICIES)) {
    policies.push(await replay(name, limits, requests, columns));
  }
  return {
    log: {
      files: ["sample.log"],
      lines: lines.length,
      requests: requests.length,
      clients: new Set(requests.map(({ client }) => client)).size,
      malformed: lines.length - requests.length,
      examples: [{ file: "sample.log", number: 7, text: "\u0016\u0003\u0001", reason: "noise" }],
      reordered: 0,
      late: 0,
      from: first.time,
      to: last.time,
    },
    columnMs: COLUMN_MS,
    timeline: countColumns(requests, first.time, columns),
    policies,
    peaks: [10_000, 60_000, 3_600_000].map((windowMs) => ({
      windowMs,
      counts: peaksOf(requests, windowMs),
      error: 0,
    })),
  };
}

/** A recommendation of the first policy of a result, as if a search had found it. */
export function sampleRecommendation(replay: ReplayResult): Recommendation {
  const { log, policies } = replay;
  const [first] = policies as [PolicyResult];
  const { requests, clients } = log;
  const { denied, clientsDenied, limits, waitsMs } = first;
  const score = { requests, denied, clients, clientsDenied };
  return {
    log,
    target: { of: "clients", percent: 3, maxDenied: 3 },
    proposal: {
      limit: [limits].flat()[0] as Limit,
      window: "1m",
      units: 30,
      reason: "It is the only window considered.",
      replays: [
        { units: 30, ...score, meetsTarget: true, waitsMs },
        { units: 29, ...score, clientsDenied: 4, meetsTarget: false, waitsMs },
      ],
      holdout: {
        ...{ units: 31, ...score, meetsTarget: false, proposal: { ...score, meetsTarget: true } },
        from: log.from as number,
        to: log.to as number,
      },
      maxPerDay: 43_230,
      busiestClientPerDay: 297,
    },
    windows: [
      ...[["10s", 10] as const, ["1m", 30] as const].map(([window, units]) => ({
        ...{ window, units, isLogLongEnough: true, excessAtOnce: 1, excessOverTime: 2, ...score },
      })),
      {
        window: "1h",
        units: 90,
        isLogLongEnough: false,
        excessAtOnce: 1,
        excessOverTime: 1,
        ...score,
      },
    ],
    caveats: ["Not considered: 1h."],
    replay,
  };
}

/** Names as an attacker would choose them, and numbers that are hard to draw. */
export function hostileResult(): ReplayResult {
  const evil = `<script>alert("1")</script>\u202e<svg onload=alert(1)>${"x".repeat(300)}`;
  const timeline = Array.from({ length: 240 }, (_, i) => (i % 7 === 0 ? 10 ** 9 : 1));
  const from = Date.UTC(1999, 11, 31, 23, 59, 59);
  const limits = [1, 2, 3, 999, 1_000, 1_001, 10 ** 9, 10].map((limit) =>
    slidingLog({ limit: Math.min(limit, 10 ** 6), window: "1m", name: "a<b" }),
  );
  return {
    log: {
      files: [evil, evil],
      lines: 10 ** 10,
      requests: 10 ** 10,
      clients: 10 ** 7,
      malformed: 1,
      examples: [{ file: evil, number: 10 ** 9, text: evil, reason: evil }],
      reordered: 1,
      late: 1,
      from,
      to: from + 240 * 86_400_000,
    },
    columnMs: 86_400_000,
    timeline,
    policies: limits.map((limit, i) => ({
      name: `${i}${evil}`,
      limits: limit,
      description: describePolicy(limit),
      allowed: 10 ** 10 - i,
      denied: i,
      clientsDenied: i * 10 ** 5,
      timeline,
      clients: [
        {
          client: evil,
          requests: 9,
          denied: 3,
          firstDeniedAt: from,
          lastDeniedAt: from,
          longestWaitMs: 1_000,
          timeline: { requests: timeline, denied: timeline },
        },
      ],
      waitsMs: { p50: 1, p90: 10 ** 5, p99: 10 ** 8, max: 10 ** 10 },
      evicted: 1,
    })),
    peaks: [
      {
        windowMs: 60_000,
        counts: [
          { peak: 1, clients: 10 ** 7 - 1 },
          { peak: 10 ** 6, clients: 1 },
        ],
        error: 0.01,
      },
    ],
  };
}

function readLine(line: string): Request[] {
  const [, client, at, zone] =
    /^(\S+) \S+ \S+ \[([^ ]+) ([+-]\d{4})\] "[A-Z]+ [^"]*" \d+ (?:\d+|-) .*"$/.exec(line) ?? [];
  if (client === undefined || at === undefined) return [];
  const time = Date.parse(`${at.replaceAll("/", " ").replace(":", " ")} ${zone}`);
  return [{ client, time }];
}

function columnOf(sinceFirst: number): number {
  return Math.floor(sinceFirst / COLUMN_MS);
}

function countColumns(requests: readonly Request[], from: number, columns: number): number[] {
  const counts = new Array<number>(columns).fill(0);
  for (const { time } of requests) (counts[columnOf(time - from)] as number) += 1;
  return counts;
}

async function replay(
  name: string,
  limits: Policy,
  requests: readonly Request[],
  columns: number,
): Promise<PolicyResult> {
  let now = 0;
  const store = memoryStore({ clock: () => now });
  const limiter = createLimiter({ name, limits, store });
  const denials: (Request & { wait: number })[] = [];
  for (const request of requests) {
    now = request.time;
    const { allowed, retryAfterMs } = await limiter.consume(request.client);
    if (!allowed) denials.push({ ...request, wait: retryAfterMs });
  }
  await limiter.close();
  const from = (requests[0] as Request).time;
  const waits = denials.map(({ wait }) => wait).sort((a, b) => a - b);
  const waitAt = (share: number) => waits[Math.ceil(share * waits.length) - 1] as number;
  const clients = [...new Set(denials.map(({ client }) => client))].map((client): DeniedClient => {
    const own = requests.filter((one) => one.client === client);
    const denied = denials.filter((one) => one.client === client);
    return {
      client,
      requests: own.length,
      denied: denied.length,
      firstDeniedAt: (denied[0] as Request).time,
      lastDeniedAt: (denied.at(-1) as Request).time,
      longestWaitMs: Math.max(...denied.map(({ wait }) => wait)),
      agent: "Mozilla/5.0 (compatible; ExampleBot/2.1; +https://bot.example/about-this-crawler)",
      paths: [{ path: "/products/by-category/garden-furniture", denied: denied.length }],
      timeline: {
        requests: countColumns(own, from, columns),
        denied: countColumns(denied, from, columns),
      },
    };
  });
  return {
    name,
    limits,
    description: describePolicy(limits),
    allowed: requests.length - denials.length,
    denied: denials.length,
    clientsDenied: clients.length,
    timeline: countColumns(denials, from, columns),
    clients: clients.sort((a, b) => b.denied - a.denied),
    waitsMs: { p50: waitAt(0.5), p90: waitAt(0.9), p99: waitAt(0.99), max: waitAt(1) },
    evicted: 0,
  };
}

function peaksOf(
  requests: readonly Request[],
  window: number,
): { peak: number; clients: number }[] {
  const peaks = new Map<string, number>();
  const times = new Map<string, number[]>();
  for (const { client, time } of requests) {
    const recent = (times.get(client) ?? []).filter((at) => at > time - window);
    times.set(client, [...recent, time]);
    peaks.set(client, Math.max(peaks.get(client) ?? 0, recent.length + 1));
  }
  const counts = new Map<number, number>();
  for (const peak of peaks.values()) counts.set(peak, (counts.get(peak) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => a - b).map(([peak, clients]) => ({ peak, clients }));
}
