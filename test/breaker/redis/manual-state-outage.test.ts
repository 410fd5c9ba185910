import type { Breaker } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterEach, beforeEach, expect, test } from "vitest";
import { watchStalls } from "../../faults/stalls.ts";
import { watchWarnings } from "../../http/support/warnings.ts";
import type { RedisProcess } from "../../support/redis-process.ts";
import { startRedis } from "../../support/redis-process.ts";
import { waitUntil } from "../../support/wait-until.ts";
import type { BreakerEvents } from "./breaker-events.ts";
import { listenToBreaker } from "./breaker-events.ts";

/** Longer than the default, for a machine that does other things as well. */
const STORE_TIMEOUT_MS = 250;
/** What a busy machine adds to a timer. */
const NOISE_MS = 50;

let server: RedisProcess;
let client: Redis;
let breaker: Breaker<string>;
let events: BreakerEvents;

beforeEach(async () => {
  watchWarnings();
  server = await startRedis();
  client = new Redis(server.socket);
  client.on("error", () => {});
  events = listenToBreaker("by-hand");
  breaker = createBreaker<string>({
    name: "by-hand",
    store: redisStore(client),
    storeTimeout: STORE_TIMEOUT_MS,
    flushInterval: 0,
    minimumCalls: 2,
  });
  await breaker.admit();
});
afterEach(async () => {
  events.stop();
  await breaker.close();
  client.disconnect();
  await server.stop();
});

async function waitUntilBack(): Promise<void> {
  await waitUntil("the store is back", 10_000, async () => {
    const { degraded } = await breaker.snapshot();
    return degraded ? undefined : true;
  });
}

const orders = [
  { order: "forceOpen", state: "forced-open" },
  { order: "disable", state: "disabled" },
  { order: "metricsOnly", state: "metrics-only" },
  { order: "reset", state: "closed" },
] as const;

test.each(orders)(
  "$order rejects at once during an outage, and holds in this process until it ends",
  async ({ order, state }) => {
    server.freeze();
    expect(await breaker.admit()).toMatchObject({ degraded: true });
    const rejected = await timeOf(() => breaker[order]());
    expect(rejected).toMatchObject({ error: { code: "HEADGATE_STORE_UNAVAILABLE" } });
    expect(rejected.tookMs).toBeLessThan(NOISE_MS);
    const allowed = order !== "forceOpen";
    expect(await breaker.admit()).toMatchObject({ allowed, state, degraded: true });
    server.thaw();
    await waitUntilBack();
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", degraded: false });
  },
);

test("the first manual state change in an outage rejects within storeTimeout, and may apply later", async () => {
  server.freeze();
  const rejected = await timeOf(() => breaker.forceOpen());
  expect(rejected).toMatchObject({ error: { code: "HEADGATE_STORE_UNAVAILABLE" } });
  expect(rejected.tookMs).toBeLessThan(STORE_TIMEOUT_MS + NOISE_MS);
  expect(await breaker.admit()).toMatchObject({ state: "forced-open", degraded: true });
  // A server that was frozen does what it was sent.
  server.thaw();
  await waitUntilBack();
  expect(await breaker.snapshot()).toMatchObject({ state: "forced-open", degraded: false });
});

/** How an order failed, and how long it took, without the time in which the machine let this process do nothing. */
async function timeOf(
  order: () => Promise<void>,
): Promise<{ readonly error: unknown; readonly tookMs: number }> {
  const stalls = watchStalls();
  const before = performance.now();
  const error = await order().catch((reason: unknown) => reason);
  const after = performance.now();
  stalls.stop();
  return { error, tookMs: after - before - stalls.stalledMs(before, after) };
}

test.each(orders.slice(0, 3))(
  "the state of $order before an outage holds in it and in the next",
  async (example) => {
    const { order, state } = example;
    await breaker[order]();
    for (let outage = 1; outage <= 2; outage += 1) {
      server.freeze();
      const permit = await breaker.admit();
      expect(permit).toMatchObject({ state, degraded: true, allowed: order !== "forceOpen" });
      await breaker.record("failure");
      await breaker.record("failure");
      expect(await breaker.snapshot()).toMatchObject({ state, degraded: true });
      expect(events.degraded).toHaveLength(outage);
      server.thaw();
      await waitUntilBack();
      expect(await breaker.snapshot()).toMatchObject({ state, degraded: false });
    }
  },
);

test("a manual state set between two outages holds in the second", async () => {
  server.freeze();
  expect(await breaker.admit()).toMatchObject({ state: "closed", degraded: true });
  server.thaw();
  await waitUntil("an order is taken again", 10_000, async () => {
    await breaker.forceOpen();
    return true;
  });
  server.freeze();
  expect(await breaker.admit()).toMatchObject({ state: "forced-open", degraded: true });
  expect(events.degraded).toHaveLength(2);
});

test("a target that opened before an outage stays open in it for its remaining time, then makes local trial calls", async () => {
  await breaker.close();
  breaker = createBreaker<string>({
    name: "by-hand",
    store: redisStore(client),
    storeTimeout: STORE_TIMEOUT_MS,
    flushInterval: 0,
    minimumCalls: 2,
    openFor: "1s",
    trialCalls: 2,
  });
  await breaker.record("failure");
  await breaker.record("failure");
  const since = performance.now();
  const { state, retryAfterMs } = await breaker.snapshot();
  expect(state).toBe("open");
  server.freeze();
  // It is answered without the store: nothing tells yet that it is away.
  expect(await breaker.admit()).toMatchObject({ allowed: false, state: "open", degraded: false });
  const look = await breaker.snapshot();
  expect(look).toMatchObject({ state: "open", degraded: true, openings: 1 });
  expect(look.retryAfterMs).toBeLessThanOrEqual(retryAfterMs);
  const trial = await waitUntil("its time is up", 5_000, async () => {
    const permit = await breaker.admit();
    return permit.allowed ? permit : undefined;
  });
  expect(performance.now() - since).toBeGreaterThan(retryAfterMs - NOISE_MS);
  const other = await breaker.admit();
  expect([trial, other]).toMatchObject(
    Array.from({ length: 2 }, () => ({ allowed: true, state: "half-open", degraded: true })),
  );
  expect(await breaker.admit()).toMatchObject({ allowed: false, state: "half-open" });
  await trial.record("success");
  await other.record("success");
  expect(await breaker.snapshot()).toMatchObject({ state: "closed", degraded: true });
});
