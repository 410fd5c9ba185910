import type { Breaker, BreakerOptions, Permit } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";

const BEFORE = {
  minimumCalls: 4,
  trialCalls: 2,
  openFor: "30s",
  flushInterval: 0,
  storeTimeout: "1m",
} satisfies BreakerOptions;

let now: number;
let name = 0;
let clients: Redis[];
beforeEach(() => {
  now = 1_800_000_000_000;
  name += 1;
  clients = [];
});
afterEach(() => {
  for (const client of clients) client.disconnect();
});

/** A process of its own, with the options that it was deployed with. */
function deploy(options: BreakerOptions): Breaker {
  const client = new Redis(inject("redisSocket"));
  clients.push(client);
  const store = redisStore(client, { prefix: "rolling-deploy", clock: () => now });
  return createBreaker({ ...BEFORE, ...options, name: `breaker ${name}`, store });
}

async function open(breaker: Breaker): Promise<void> {
  for (let i = 0; i < 4; i += 1) await breaker.record("failure");
  expect((await breaker.snapshot()).state).toBe("open");
}

async function admit(breaker: Breaker, times: number): Promise<Permit[]> {
  const permits: Permit[] = [];
  for (let i = 0; i < times; i += 1) permits.push(await breaker.admit());
  return permits;
}

describe("during a deploy", () => {
  test("a deploy with fewer trial calls closes the breaker if enough have succeeded", async () => {
    const before = deploy({ trialCalls: 10 });
    const after = deploy({ trialCalls: 3 });
    await open(before);
    now += 30_000;
    for (const permit of await admit(before, 6)) await permit.record("success");
    expect((await before.snapshot()).state).toBe("half-open");
    expect(await after.snapshot()).toMatchObject({ state: "closed", calls: 0 });
    expect((await before.admit()).allowed).toBe(true);
  });

  test("a deploy with fewer trial calls opens the breaker again if they have failed", async () => {
    const before = deploy({ trialCalls: 10 });
    const after = deploy({ trialCalls: 3 });
    await open(before);
    now += 30_000;
    for (const permit of await admit(before, 6)) await permit.record("failure");
    expect(await after.snapshot()).toMatchObject({ state: "open", openings: 2 });
  });

  test.each([
    { what: "taken away", ramp: {}, share: 1 },
    { what: "shortened", ramp: { rampUp: "1m" } as const, share: 0.1 },
  ])("a deploy with the ramp $what rejects no calls for longer", async ({ ramp, share }) => {
    const before = deploy({ rampUp: "10m" });
    const after = deploy(ramp);
    await open(before);
    now += 30_000;
    for (const permit of await admit(before, 2)) await permit.record("success");
    now += 1_000;
    const permits = await admit(after, 100);
    expect(permits.filter(({ allowed }) => allowed)).toHaveLength(100 * share);
    // No debt is left of it.
    now += 600_000;
    expect((await admit(after, 50)).every(({ allowed }) => allowed)).toBe(true);
  });

  test("closing empties the windows of processes with other options", async () => {
    const before = deploy({ window: "5m" });
    const after = deploy({ window: { calls: 50 } });
    for (let i = 0; i < 3; i += 1) await after.record("failure");
    await open(before);
    now += 30_000;
    for (const permit of await admit(before, 2)) await permit.record("success");
    await after.record("success");
    expect(await after.snapshot()).toMatchObject({ state: "closed", calls: 1, failures: 0 });
  });

  test("a reset empties the windows of processes with other options, but not their later calls", async () => {
    const before = deploy({ window: "5m" });
    const after = deploy({ window: "1m" });
    for (let i = 0; i < 3; i += 1) await after.record("failure");
    now += 1;
    await before.reset();
    expect((await after.snapshot()).calls).toBe(0);
    await after.record("failure");
    now += 1;
    await after.record("success");
    expect(await after.snapshot()).toMatchObject({ calls: 2, failures: 1 });
    expect((await before.snapshot()).calls).toBe(0);
  });

  test("a deploy with another trialCallTimeout keeps the leases of trial calls in flight", async () => {
    const before = deploy({ trialCallTimeout: "10m" });
    const after = deploy({ trialCallTimeout: "1s" });
    await open(before);
    now += 30_000;
    const trials = await admit(before, 2);
    expect((await after.admit()).allowed).toBe(false);
    now += 60_000;
    expect((await after.admit()).allowed).toBe(false);
    for (const trial of trials) await trial.record("success");
    expect((await after.snapshot()).state).toBe("closed");
  });
});

test("a clock that steps back restarts a lease at its full length", async () => {
  const breaker = deploy({ trialCalls: 1, trialCallTimeout: "10s" });
  await open(breaker);
  now += 30_000;
  await breaker.admit();
  now += 5_000;
  now -= 3_600_000;
  // As long as when it began: nobody knows how much of it had passed.
  expect((await breaker.admit()).allowed).toBe(false);
  now += 10_999;
  expect((await breaker.admit()).allowed).toBe(false);
  now += 1;
  expect((await breaker.admit()).allowed).toBe(true);
});
