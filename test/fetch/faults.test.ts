import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { startGitHub } from "../../examples/providers/github.mjs";
import { startIetf } from "../../examples/providers/ietf.mjs";
import { now } from "../../examples/providers/mock-api.mjs";
import { startShopify } from "../../examples/providers/shopify.mjs";
import { Random } from "../conformance/random/random.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { startRedis } from "../support/redis-process.ts";
import { waitUntil } from "../support/wait-until.ts";
import { makeCalls } from "./fleet/fleet.mjs";
import {
  expectAllDone,
  findTooEarly,
  fromBucket,
  inWindowsOf,
  sentDuringCooldowns,
  started,
  useFleet,
} from "./fleet/use-fleet.ts";

const own = useFleet();

test("eight processes keep to the buckets of Shopify, in REST and in GraphQL", async () => {
  const api = await started(startShopify({ size: 40, perSecond: 80, points: 400 }));
  const path = "/admin/api/2026-07";
  const bucket = { algorithm: "tokenBucket", capacity: 20, refill: 60, every: "1s" };
  await own.openCallers([bucket]);
  const rest = makeCalls(80, () => ({ url: `${api.url}${path}/products.json` }));
  expectAllDone(rest, await own.fleet.run(rest), api);
  api.arrivals.length = 0;
  api.graphql.perSecond = 800;
  // Each requests 12 points.
  await own.openCallers([{ ...bucket, capacity: 16, refill: 50 }]);
  const body = JSON.stringify({ query: "{ products(first: 10) { nodes { id } } }" });
  const url = `${api.url}${path}/graphql.json`;
  const queries = makeCalls(80, () => ({ url, method: "POST", body }), "query");
  const startedAt = now();
  expectAllDone(queries, await own.fleet.run(queries), api);
  expect(findTooEarly(api, startedAt, fromBucket(16, 50))).toEqual([]);
});

test("eight processes on a cluster send no more than their limit in any window", async () => {
  const cluster = await startCluster();
  onTestFinished(() => cluster.stop());
  const api = await started(startIetf({ limit: 100, windowMs: 1_000 }));
  await own.openCallers([{ algorithm: "slidingLog", limit: 60, window: 1_000 }], {
    nodes: cluster.addresses,
    storeTimeout: "5s",
    connectTimeout: "20s",
  });
  const calls = makeCalls(150, (i) => ({ url: `${api.url}/${i}` }));
  const startedAt = now();
  expectAllDone(calls, await own.fleet.run(calls), api);
  expect(findTooEarly(api, startedAt, inWindowsOf(60, 1_000))).toEqual([]);
  await own.fleet.closeCallers();
});

describe("a provider that", () => {
  const limits = [{ algorithm: "slidingLog", limit: 60, window: 1_000 }];

  test("lowers its limit is kept to, and no call is lost", async () => {
    const api = await started(startGitHub({ limit: 80, windowMs: 1_000, latencyMs: 5 }));
    await own.openCallers(limits);
    api.intercept = (_, answer) => {
      if (api.arrivals.length === 90) api.core.limit = 25;
      return answer();
    };
    const calls = makeCalls(150, (i) => ({ url: `${api.url}/repos/acme/${i}` }));
    const startedAt = now();
    expectAllDone(calls, await own.fleet.run(calls), api);
    const reports = await own.fleet.report();
    expect(api.arrivals.some(({ isLimited }) => isLimited)).toBe(true);
    expect(sentDuringCooldowns(reports)).toEqual([]);
    expect(findTooEarly(api, startedAt, inWindowsOf(60, 1_000))).toEqual([]);
  });

  test("raises its limit, or says that more is left than there is, does not make them faster", async () => {
    const api = await started(startGitHub({ limit: 80, windowMs: 1_000 }));
    await own.openCallers(limits);
    api.intercept = (_, answer) => {
      if (api.arrivals.length === 50) api.core.limit = 10_000;
      const given = answer();
      const headers = { "x-ratelimit-remaining": "999999", "x-ratelimit-limit": "999999" };
      return api.arrivals.length < 100 ? given : { ...given, headers };
    };
    const calls = makeCalls(150, (i) => ({ url: `${api.url}/repos/acme/${i}` }));
    const startedAt = now();
    expectAllDone(calls, await own.fleet.run(calls), api);
    expect(findTooEarly(api, startedAt, inWindowsOf(60, 1_000))).toEqual([]);
  });

  test("sends nonsense is not misread, and each process reports each header once", async () => {
    const api = await started(startGitHub());
    await own.openCallers(limits);
    const random = new Random(40);
    const NONSENSE = ["lots", "-1", "1e9", "NaN", "0x10", "12;", "\u00e4", "9".repeat(400), "1,5"];
    const pick = () => random.pick(NONSENSE);
    const NAMES = ["remaining", "limit", "reset", "used"].map((name) => `x-ratelimit-${name}`);
    api.intercept = (_, answer) => {
      const headers = Object.fromEntries(NAMES.map((name) => [name, pick()]));
      return { ...answer(), headers: { ...headers, "retry-after": pick() } };
    };
    const calls = makeCalls(150, (i) => ({ url: `${api.url}/repos/acme/${i}` }));
    const startedAt = now();
    expectAllDone(calls, await own.fleet.run(calls), api);
    const reports = await own.fleet.report();
    expect(findTooEarly(api, startedAt, inWindowsOf(60, 1_000))).toEqual([]);
    for (const { warnings } of reports) {
      const ignored = warnings.filter((code) => code === "HEADGATE_HEADER_IGNORED");
      expect(ignored.length).toBeGreaterThan(0);
      expect(ignored.length).toBeLessThanOrEqual(5);
    }
  });

  test("answers 503 gets idempotent requests again, and changes once", async () => {
    const api = await started(startGitHub());
    await own.openCallers(limits);
    const until = now() + 700;
    api.intercept = ({ at }, answer) => (at < until ? { status: 503 } : answer());
    const url = `${api.url}/repos/acme/anvil`;
    const reads = makeCalls(16, () => ({ url }));
    const changes = makeCalls(16, () => ({ url, method: "POST", body: "{}" }), "change");
    const outcomes = await own.fleet.run([...reads, ...changes]);
    const done = outcomes.filter(({ id }) => !id.startsWith("change"));
    expectAllDone(reads, done, api);
    const ids = api.arrivals.map(({ headers }) => String(headers["x-call"]));
    const changed = ids.filter((id) => id.startsWith("change"));
    expect(new Set(changed).size).toBe(changed.length);
    const statuses = outcomes.filter(({ id }) => id.startsWith("change")).map((one) => one.status);
    expect(new Set(statuses)).toEqual(new Set([503]));
  });

  test("refuses by a secondary limit without a header stops all eight processes", async () => {
    const api = await started(
      startGitHub({ points: 60, secondaryWindowMs: 1_200, givesRetryAfter: false }),
    );
    await own.openCallers([{ algorithm: "tokenBucket", capacity: 10, refill: 100, every: "1s" }], {
      maxCooldown: "1300ms",
    });
    const calls = makeCalls(100, (i) => ({ url: `${api.url}/repos/acme/${i}` }));
    expectAllDone(calls, await own.fleet.run(calls), api);
    const reports = await own.fleet.report();
    expect(api.arrivals.some(({ isLimited }) => isLimited)).toBe(true);
    expect(sentDuringCooldowns(reports)).toEqual([]);
  });
});

test("while Redis is away, each process sends its share; then the fleet keeps to one limit again", async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const api = await started(startIetf({ limit: 10_000 }));
  await own.openCallers([{ algorithm: "slidingLog", limit: 40, window: 1_000 }], {
    redis: server.socket,
    localShare: 1 / 8,
    storeTimeout: "500ms",
  });
  const startedAt = now();
  const calls = makeCalls(200, (i) => ({ url: `${api.url}/${i}` }));
  const running = own.fleet.run(calls);
  await waitUntil("the fleet was on its way", 20_000, () => api.arrivals.length >= 60 || undefined);
  const killedAt = now();
  await server.kill();
  await waitUntil(
    "all processes decided without Redis",
    20_000,
    async () => (await own.fleet.isDegraded()).every(Boolean) || undefined,
  );
  const degradedFrom = api.arrivals.length;
  await delay(1_300);
  expect(api.arrivals.length).toBeGreaterThan(degradedFrom);
  const restartedAt = now();
  await server.restart();
  expectAllDone(calls, await running, api);
  expect(await own.fleet.isDegraded()).toEqual(Array(8).fill(false));
  // The shares begin at zero, and so does the Redis that comes back empty.
  const most = inWindowsOf(40, 1_000);
  const mostInAll = (ms: number) =>
    most(ms) + most(ms - (killedAt - startedAt)) + (ms < restartedAt - startedAt ? 0 : 40);
  expect(findTooEarly(api, startedAt, mostInAll)).toEqual([]);
});
