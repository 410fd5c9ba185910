import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { startGitHub } from "../../examples/providers/github.mjs";
import { startIetf } from "../../examples/providers/ietf.mjs";
import { now } from "../../examples/providers/mock-api.mjs";
import { startOpenAi } from "../../examples/providers/openai.mjs";
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

test("eight processes send GitHub no more than their limit in any window", async () => {
  const api = await started(startGitHub({ limit: 100, windowMs: 1_000, latencyMs: 5 }));
  await own.openCallers([{ algorithm: "slidingLog", limit: 80, window: 1_000 }]);
  const calls = makeCalls(200, (i) => ({ url: `${api.url}/repos/acme/${i}` }));
  const startedAt = now();
  expectAllDone(calls, await own.fleet.run(calls), api);
  expect(findTooEarly(api, startedAt, inWindowsOf(80, 1_000))).toEqual([]);
});

test("eight processes keep to the requests and the tokens of an API of language models", async () => {
  const api = await started(startOpenAi({ requests: 200, tokens: 8_000, windowMs: 1_000 }));
  const limits = [
    { algorithm: "tokenBucket", name: "requests", capacity: 40, refill: 150, every: "1s" },
    { algorithm: "tokenBucket", name: "tokens", capacity: 2_000, refill: 6_000, every: "1s" },
  ];
  await own.openCallers(limits, { cost: { requests: 1, tokens: 60 } });
  const body = JSON.stringify({ messages: [{ role: "user", content: "Where is it?" }] });
  const calls = makeCalls(160, () => ({
    url: `${api.url}/v1/chat/completions`,
    method: "POST",
    body,
  }));
  const startedAt = now();
  expectAllDone(calls, await own.fleet.run(calls), api);
  expect(findTooEarly(api, startedAt, fromBucket(40, 150))).toEqual([]);
});

test("a 429 stops all eight processes: only calls in flight get another, and no call is lost", async () => {
  const api = await started(startIetf({ limit: 10_000, latencyMs: 5 }));
  await own.openCallers([{ algorithm: "tokenBucket", capacity: 20, refill: 100, every: "1s" }]);
  let until = 0;
  api.intercept = ({ at }, answer) => {
    if (until === 0 && api.arrivals.length >= 60) until = at + 1_200;
    if (at >= until) return answer();
    return { status: 429, headers: { "retry-after": String((until - at) / 1_000) } };
  };
  const calls = makeCalls(160, (i) => ({ url: `${api.url}/${i}`, method: "POST", body: "{}" }));
  expectAllDone(calls, await own.fleet.run(calls), api);
  const reports = await own.fleet.report();
  const refused = api.arrivals.filter(({ isLimited }) => isLimited);
  expect(refused.length).toBeGreaterThan(0);
  expect(sentDuringCooldowns(reports)).toEqual([]);
});

test("calls to a provider that refuses connections fail at once, each sent once, and later ones are done", async () => {
  const api = await started(startGitHub());
  await own.openCallers([{ algorithm: "gcra", limit: 60, window: 1_000 }]);
  await api.stop();
  const lost = makeCalls(24, (i) => ({ url: `${api.url}/repos/acme/${i}` }));
  const outcomes = await own.fleet.run(lost);
  expect(new Set(outcomes.map(({ error }) => error))).toEqual(new Set(["TypeError: fetch failed"]));
  const sent = (await own.fleet.report()).flatMap((one) => one.sent.map(({ id }) => id));
  expect(sent.sort()).toEqual(lost.map(({ id }) => id).sort());
  await api.start();
  const calls = makeCalls(24, (i) => ({ url: `${api.url}/repos/acme/${i}` }), "later");
  expectAllDone(calls, await own.fleet.run(calls), api);
});

test("the slots of a killed process are free again when their ttl is over", async () => {
  const api = await started(startIetf({ limit: 10_000, latencyMs: 30_000 }));
  await own.openCallers([{ algorithm: "concurrency", limit: 4, ttl: "1s" }]);
  const held = makeCalls(4, (i) => ({ url: `${api.url}/held-${i}` }), "held");
  own.fleet.runOne(0, held).catch(() => {});
  await waitUntil("the slots were taken", 20_000, () => api.arrivals.length === 4 || undefined);
  const calls = makeCalls(12, (i) => ({ url: `${api.url}/${i}` }));
  const running = Promise.all(
    [1, 2, 3].map((i) => own.fleet.runOne(i, calls.slice(i * 4 - 4, i * 4))),
  );
  await delay(1_300);
  // The slots were renewed, and nobody else got one.
  expect(api.arrivals).toHaveLength(4);
  api.latencyMs = 20;
  const killedAt = now();
  await own.fleet.kill(0);
  const outcomes = (await running).flat();
  expectAllDone(calls, outcomes, api);
  const freeAfterMs = (api.arrivals[4]?.at ?? 0) - killedAt;
  // The ttl began at the last renewal, at most a third of it before the end.
  expect(freeAfterMs).toBeGreaterThan(1_000 - 1_000 / 3 - 100);
  expect(freeAfterMs).toBeLessThan(4_000);
  expect(Math.max(...api.arrivals.slice(4).map(({ inFlight }) => inFlight))).toBeLessThanOrEqual(4);
});
