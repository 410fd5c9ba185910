import type { Breaker, BreakerOptions } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, inject, onTestFinished, test } from "vitest";
import { watchStalls } from "../../faults/stalls.ts";
import { watchWarnings } from "../../http/support/warnings.ts";
import type { TcpProxy } from "../../support/tcp-proxy.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** What a busy machine adds to a timer. */
const NOISE_MS = 40;

let proxy: TcpProxy;
let far: Redis;
let near: Redis;
beforeAll(async () => {
  proxy = await startTcpProxy({ socket: inject("redisSocket") });
  far = new Redis(proxy.port, "127.0.0.1");
  near = new Redis(inject("redisSocket"));
});
afterAll(async () => {
  far.disconnect();
  near.disconnect();
  await proxy.close();
});
beforeEach(() => {
  watchWarnings();
  proxy.delayReplies(0);
});

function start(client: Redis, options: BreakerOptions<never>): Breaker<string> {
  const breaker = createBreaker<string>({ ...options, store: redisStore(client) } as never);
  onTestFinished(() => breaker.close());
  return breaker;
}

test("a call to a half-open target waits no longer than storeTimeout, however many requests it takes", async () => {
  const options = { name: "slow-half-open", minimumCalls: 1, openFor: 20, trialCalls: 5 } as const;
  const other = start(near, options);
  await other.reset();
  await other.record("failure");
  const { retryAfterMs } = await other.snapshot();
  await new Promise((resolve) => setTimeout(resolve, retryAfterMs));
  await far.ping();
  const breaker = start(far, { ...options, storeTimeout: 100 });
  proxy.delayReplies(80);
  const stalls = watchStalls();
  const before = performance.now();
  await breaker.admit();
  const after = performance.now();
  stalls.stop();
  expect(after - before - stalls.stalledMs(before, after)).toBeLessThan(100 + NOISE_MS);
});

test("outcomes recorded during a report are sent after it without another call", async () => {
  const options = { name: "slow-report", flushInterval: 20, storeTimeout: "1s" } as const;
  const [breaker, other] = [start(far, options), start(near, options)];
  await other.reset();
  proxy.delayReplies(100);
  await breaker.record("success");
  const { accepted } = proxy.counts;
  const before = proxy.counts.requestBytes;
  await waitUntil("the report is under way", 5_000, () =>
    proxy.counts.requestBytes > before ? true : undefined,
  );
  await breaker.record("success");
  await waitUntil("the others know of both", 5_000, async () => {
    const { calls } = await other.snapshot();
    return calls === 2 || undefined;
  });
  expect(proxy.counts.accepted).toBe(accepted);
});

test("close sends outcomes that were recorded during a report", async () => {
  const options = { name: "slow-close", flushInterval: 20, storeTimeout: "1s" } as const;
  const [breaker, other] = [start(far, options), start(near, options)];
  await other.reset();
  proxy.delayReplies(50);
  await breaker.record("success");
  const before = proxy.counts.requestBytes;
  await waitUntil("the report is under way", 5_000, () =>
    proxy.counts.requestBytes > before ? true : undefined,
  );
  await breaker.record("success");
  await breaker.record("failure");
  await breaker.close();
  expect(await other.snapshot()).toMatchObject({ calls: 3, failures: 1 });
});

test("trial calls of a distant process have leases as long as others", async () => {
  const options = {
    name: "slow-probes",
    minimumCalls: 1,
    openFor: 20,
    trialCalls: 1,
    storeTimeout: "1s",
  } as const;
  const [breaker, other] = [start(far, options), start(near, options)];
  await other.reset();
  await other.record("failure");
  const { retryAfterMs } = await other.snapshot();
  proxy.delayReplies(60);
  await new Promise((resolve) => setTimeout(resolve, retryAfterMs));
  // Whoever asks first has it, and the other is told so.
  const [mine, theirs] = await Promise.all([breaker.admit(), other.admit()]);
  expect([mine, theirs].filter(({ allowed }) => allowed)).toHaveLength(1);
  await (mine.allowed ? mine : theirs).record("success");
  expect(await other.snapshot()).toMatchObject({ state: "closed", degraded: false });
  expect(await breaker.snapshot()).toMatchObject({ state: "closed", degraded: false });
});

test("trial call leases that arrive after storeTimeout are released long before they end", async () => {
  const options = {
    name: "late-grants",
    minimumCalls: 1,
    openFor: "1s",
    trialCalls: 2,
    storeTimeout: 250,
  } as const;
  const [breaker, other] = [start(far, options), start(near, options)];
  await other.reset();
  await other.record("failure");
  await other.snapshot();
  const { state, retryAfterMs } = await breaker.snapshot();
  expect(state).toBe("open");
  // A timer may fire a millisecond early.
  await new Promise((resolve) => setTimeout(resolve, retryAfterMs + 1));
  proxy.hold("replies");
  const asked = await Promise.all([breaker.admit(), breaker.admit()]);
  // They go by what this process knows by itself; Redis has granted both.
  for (const permit of asked) expect(permit).toMatchObject({ degraded: true });
  expect(await other.admit()).toMatchObject({ allowed: false, state: "half-open" });
  proxy.pass();
  await waitUntil("a place is free", 5_000, async () => {
    // What could not be given back at once is with the next that is told.
    await breaker.snapshot();
    const permit = await other.admit();
    return permit.allowed || undefined;
  });
});
