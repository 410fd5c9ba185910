import { expect, test } from "vitest";

interface TargetResult {
  readonly claim: string;
  readonly measured: number;
  readonly isReached: boolean;
}

// Modules without types.
const targets: string = "./targets.mjs";
const statistics: string = "./statistics.mjs";
const { evaluateTargets } = (await import(targets)) as {
  evaluateTargets(rows: readonly object[]): TargetResult[];
};
const { quantile } = (await import(statistics)) as {
  quantile(numbers: readonly number[], share: number): number;
};

const BASE = { suite: "decisions", inFlight: 64, subjects: 1_000, limits: 1, isDenied: false };

function judgementOf(claim: string, rows: readonly object[]): TargetResult {
  const found = evaluateTargets(rows).find((one) => one.claim.startsWith(claim));
  if (found === undefined) throw new Error(`there is no target ${claim}`);
  return found;
}

function decisions(name: string, perSecond: readonly number[]): object {
  return { ...BASE, library: "ioredis", name, perSecond };
}

test("quantiles lie between numbers where need be", () => {
  expect(quantile([3, 1, 2], 0.5)).toBe(2);
  expect(quantile([1, 2], 0.5)).toBe(1.5);
  expect(quantile([10, 20, 30, 40, 50], 0.25)).toBe(20);
  expect(quantile([], 0.5)).toBeNaN();
});

test("the best of the others is what counts, round by round, and floors are none of them", () => {
  const claim = "decisions/s, 64 in flight, ioredis";
  const rows = [
    decisions("INCR", [900, 900, 900]),
    decisions("Headgate", [200, 20, 2_000]),
    decisions("rate-limit-redis", [50, 5, 500]),
    decisions("rate-limiter-flexible", [100, 10, 1_000]),
  ];
  expect(judgementOf(claim, rows)).toMatchObject({ measured: 2, isReached: true });
  rows.push(decisions("@fastify/rate-limit", [125, 12.5, 1_250]));
  expect(judgementOf(claim, rows)).toMatchObject({ measured: 1.6, isReached: false });
});

test("a single decision is compared with rate-limit-redis by the processor time of Node and Redis together", () => {
  const setting = { ...BASE, inFlight: 1, library: "redis" };
  const redis = { suite: "redis", mode: "alone", limits: 1 };
  const rows = [
    {
      ...setting,
      name: "rate-limit-redis",
      nodeMicroseconds: [20, 10, 90],
      redisCpuMicroseconds: [10, 90, 5],
    },
    {
      ...setting,
      name: "Headgate",
      nodeMicroseconds: [25, 25, 25],
      redisCpuMicroseconds: [20, 20, 20],
    },
    { ...redis, name: "rate-limit-redis", microseconds: [10, 20] },
    { ...redis, name: "gcra", microseconds: [13, 26], instructionsFirst: 54_001 },
  ];
  const single = judgementOf("CPU of a decision, 1 in flight, node-redis 6", rows);
  expect(single).toMatchObject({ measured: 1.5, isReached: false });
  const time = judgementOf("Redis time, one decision a call", rows);
  expect(time).toMatchObject({ measured: 1.3, isReached: true });
  const first = judgementOf("instructions of Redis, alone, 1 × gcra, a first visit", rows);
  expect(first).toMatchObject({ measured: 54_001, isReached: false });
});

test("a call in memory is measured without the loop that awaits it", () => {
  const suite = "in-process";
  const rows = [
    { suite, name: "the loop itself", cpuNanoseconds: [60, 70, 80] },
    { suite, name: "memory, gcra", cpuNanoseconds: [410, 420, 430] },
  ];
  expect(judgementOf("memory, gcra, CPU ns", rows)).toMatchObject({
    measured: 350,
    isReached: true,
  });
  expect(judgementOf("memory, gcra, CPU ns", rows.slice(1)).measured).toBeNaN();
});

test("a cluster's decisions are compared with INCR through the same client", () => {
  const servers = { suite: "growth", what: "servers" };
  const rows = [
    { ...servers, at: 1, client: "ioredis", name: "INCR", perSecond: [10] },
    { ...servers, at: 3, client: "ioredis", name: "INCR", perSecond: [4] },
    { ...servers, at: 3, client: "ioredis", name: "Headgate", perSecond: [5] },
    { ...servers, at: 3, client: "Valkey GLIDE", name: "Headgate", perSecond: [9] },
  ];
  expect(judgementOf("decisions/s, 3 servers, 64 in flight, ioredis", rows)).toMatchObject({
    measured: 1.25,
    isReached: true,
  });
  expect(
    judgementOf("decisions/s, 3 servers, 64 in flight, Valkey GLIDE", rows).measured,
  ).toBeNaN();
});

test("each adapter is compared with its peer on the same store", () => {
  const setting = { suite: "http", framework: "fastify", outcome: "denied" };
  const rows = [
    { ...setting, name: "@fastify/rate-limit, Redis", perSecond: [100] },
    { ...setting, name: "@fastify/rate-limit, memory", perSecond: [1_000] },
    { ...setting, name: "Headgate, Redis", perSecond: [190] },
  ];
  const claim = "HTTP, Fastify, Redis, denied";
  expect(judgementOf(claim, rows)).toMatchObject({ measured: 1.9, isReached: true });
});

test("the log's largest limit is compared with a hundred", () => {
  const log = { suite: "growth", what: "limit of slidingLog" };
  const rows = [
    { ...log, at: 10, redisMicroseconds: [1] },
    { ...log, at: 100, redisMicroseconds: [4] },
    { ...log, at: 100_000, redisMicroseconds: [6] },
  ];
  expect(judgementOf("slidingLog at limit 100,000", rows)).toMatchObject({
    measured: 1.5,
    isReached: true,
  });
});

test("what was not measured is not reached", () => {
  for (const { measured, isReached } of evaluateTargets([])) {
    expect(measured).toBeNaN();
    expect(isReached).toBe(false);
  }
});
