import type { Limiter } from "@headgate/core";
import { createLimiter, gcra, memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { oneForAll, shareOf } from "../../examples/several-regions/limiters.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const regions = [useOwnRedis(), useOwnRedis()];
const NOW = 1_800_000_000_000;
/** Enough for 60 ms also on a busy machine. */
const PATIENT_MS = 1_000;

const limiters: Limiter[] = [];
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
});

function keep(limiter: Limiter): Limiter {
  limiters.push(limiter);
  return limiter;
}

/** A store on a region's own Redis, at a time that stands still. */
function storeIn(region: number) {
  return redisStore((regions[region] as (typeof regions)[0]).client, { clock: () => NOW });
}

/** A store of another region on the first one's Redis, whose answers take so long. */
async function distantStore(replyMs: number) {
  const [home] = regions;
  const proxy = await startTcpProxy({ socket: String(home?.server.socket) });
  const client = new Redis(proxy.port);
  onTestFinished(async () => {
    client.disconnect();
    await proxy.close();
  });
  await client.ping();
  proxy.delayReplies(replyMs);
  return { proxy, store: redisStore(client, { clock: () => NOW }) };
}

/** How many of so many units a limiter admits, asked for ten at a time, all at once. */
async function admitted(limiter: Limiter, units: number): Promise<number> {
  const requests = Array.from({ length: units / 10 }, () => limiter.consume("acme", { cost: 10 }));
  const decisions = await Promise.all(requests);
  return decisions.filter(({ allowed }) => allowed).length * 10;
}

test("the same limit on a Redis of each region is that limit times the regions", async () => {
  const counts = await Promise.all(
    [0, 1].map((region) => {
      const limits = gcra({ limit: 600, window: "1m" });
      const limiter = createLimiter({ name: "naive", store: storeIn(region), limits });
      return admitted(keep(limiter), 700);
    }),
  );
  expect(counts).toEqual([600, 600]);
});

test("the shares never exceed the limit, and a share that one region leaves cannot be used by another", async () => {
  const [one, other] = [0, 1].map((region) => keep(shareOf(storeIn(region), 2)));
  expect(await admitted(one as Limiter, 700)).toBe(300);
  expect(await admitted(other as Limiter, 100)).toBe(100);
  expect(await admitted(one as Limiter, 200)).toBe(0);
  // Rounded down.
  expect(shareOf(memoryStore(), 7).limits.map(({ limit }) => limit)).toEqual([85]);
});

test("one Redis for all admits the limit, whichever region asks", async () => {
  const distant = await distantStore(60);
  const home = keep(oneForAll(storeIn(0), PATIENT_MS, 2));
  const away = keep(oneForAll(distant.store, PATIENT_MS, 2));
  const [here, there] = await Promise.all([admitted(home, 400), admitted(away, 400)]);
  expect(here + there).toBe(600);
});

test("a disconnected region continues with its share", async () => {
  const distant = await distantStore(60);
  const away = keep(oneForAll(distant.store, 300, 2));
  expect((await away.consume("acme")).degraded).toBe(false);
  distant.proxy.hold();
  const cutOff = await away.consume("acme", { cost: 50 });
  expect([cutOff.allowed, cutOff.source]).toEqual([true, "local"]);
  // Half of 600, less the 50 above. This process counts on its own clock, by which ten seconds bring 50.
  const decisions = await Promise.all([1, 2, 3].map(() => away.consume("acme", { cost: 100 })));
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false]);
});

test("with a storeTimeout below the round trip, regions do not share counts", async () => {
  const distant = await distantStore(250);
  const limits = gcra({ limit: 600, window: "1m" });
  const impatient = keep(createLimiter({ name: "impatient", store: distant.store, limits }));
  expect((await impatient.consume("acme")).source).toBe("local");
  const patient = keep(oneForAll(distant.store, 250, 2));
  await expect.poll(async () => (await patient.consume("acme")).degraded).toBe(false);
});
