import { setTimeout as delay } from "node:timers/promises";
import type { Limit, Limiter } from "@headgate/core";
import { concurrency, createLimiter, fixedWindow, tokenBucket } from "@headgate/core";
import { createAdmin, readBlocks, readUsage } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { limitFetch } from "@headgate/fetch";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { startRedis } from "../support/redis-process.ts";
import { sendUsage } from "../support/send-usage.ts";
import { waitUntil } from "../support/wait-until.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { startProvider, tooManyUntil, trackSent, watchCooldowns } from "./provider.ts";

const own = useOwnRedis();

type Limits = Parameters<typeof createLimiter>[0]["limits"];

/** A limiter with a client of its own, as in a process of its own. */
function member(limits: Limits, socket: string = own.server.socket) {
  const client = new Redis(socket, { maxRetriesPerRequest: null });
  client.on("error", () => {});
  const store = redisStore(client, { usage: { subjects: "plain" } });
  const limiter = createLimiter({ name: "api", store, limits, storeTimeout: "5s" });
  onTestFinished(async () => {
    await limiter.close();
    client.disconnect();
  });
  return { client, store, limiter: limiter as Limiter };
}

describe("two members of a fleet", () => {
  const limits = tokenBucket({ capacity: 4, refill: 1, every: "25ms" });

  test("hear of a 429 that one of them received: only the calls in flight get another", async () => {
    let until = Number.NEGATIVE_INFINITY;
    const provider = await startProvider((number) => {
      if (number === 8) until = performance.now() + 900;
      return performance.now() < until ? tooManyUntil(until) : { begins: 10 };
    });
    const cooldowns = watchCooldowns();
    const sent = [trackSent(), trackSent()];
    const fetches = sent.map((one) =>
      limitFetch({ limiter: member(limits).limiter, fetch: one.fetch }),
    );
    const calls = fetches.flatMap((send, one) =>
      Array.from({ length: 20 }, (_, i) => send(`${provider.url}/${one}-${i}`)),
    );
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    expect(statuses).toEqual(Array(40).fill(200));
    const [first] = cooldowns;
    for (const at of sent.flatMap(({ times }) => times)) {
      const sinceBlock = at - (first?.at ?? 0);
      // The other member may have been admitted just before the block.
      expect(sinceBlock <= 60 || at >= until, `sent ${sinceBlock} ms after the block`).toBe(true);
    }
    const done = provider.arrivals.filter(({ status }) => status === 200).map(({ path }) => path);
    expect(new Set(done).size).toBe(40);
    expect(done).toHaveLength(40);
  });

  test.each<[string, Limit[]]>([
    ["a rate limit", []],
    ["a rate limit and concurrency", [concurrency({ limit: 9, ttl: "5s" })]],
  ])(
    "with %s charge what the provider counts beyond the limiter once, not once each",
    async (_, more) => {
      const provider = await startProvider(() => ({
        headers: { "x-ratelimit-limit": "1000", "x-ratelimit-remaining": "900" },
        begins: 50,
      }));
      const members = Array.from({ length: 6 }, () =>
        member([fixedWindow({ name: "rate", limit: 1_000, window: "1h" }), ...more]),
      );
      await Promise.all(
        members.map(async ({ limiter }) => (await limitFetch({ limiter })(provider.url)).text()),
      );
      const { limiter } = members[0] as (typeof members)[number];
      const left = async () => {
        const { limits } = await limiter.peek(provider.url, { cost: 0 });
        return limits.find(({ name }) => name === "rate")?.remaining;
      };
      await expect.poll(left).toBe(900);
      await delay(100);
      expect(await left()).toBe(900);
      // The charges are no requests.
      for (const { store } of members) await sendUsage(store);
      const usage = await readUsage(own.client, { limiter: "api" });
      expect(usage.limiters[0]?.total).toMatchObject({ allowed: 6, denied: 0 });
    },
  );

  test("show a cooldown with its reason, and go on at once when an operator ends it", async () => {
    let isLimited = true;
    const provider = await startProvider(() =>
      isLimited ? tooManyUntil(performance.now() + 1_800_000) : {},
    );
    const [one, other] = [member(limits), member(limits)];
    await writeRegistry(one.store);
    const first = await limitFetch({ limiter: one.limiter })(provider.url);
    expect(first.status).toBe(429);
    const waiting = limitFetch({ limiter: other.limiter, timeout: "1m" })(provider.url);
    await sendUsage(one.store);
    const { blocks } = await readBlocks(own.client);
    const { host } = new URL(provider.url);
    expect(blocks).toMatchObject([
      { limiter: "api", subject: provider.url, reason: `${host} answered 429` },
    ]);
    isLimited = false;
    await createAdmin(one.store).unblock({ name: "api", limits }, provider.url);
    expect((await waiting).status).toBe(200);
    expect(provider.arrivals).toHaveLength(2);
  });
});

test("a cooldown that another process of the application ends holds no call longer than five seconds", async () => {
  const limits = tokenBucket({ capacity: 4, refill: 1, every: "25ms" });
  let isLimited = true;
  const provider = await startProvider(() =>
    isLimited ? tooManyUntil(performance.now() + 1_800_000) : {},
  );
  const members = [member(limits), member(limits), member(limits)] as const;
  const [one, other, third] = members;
  expect((await limitFetch({ limiter: one.limiter })(provider.url)).status).toBe(429);
  const waiting = members.map(({ limiter }) =>
    limitFetch({ limiter, timeout: "1h" })(provider.url).then(() => performance.now()),
  );
  // They are in line when the decisions before them have been made.
  await Promise.all(members.map(({ limiter }) => limiter.peek("me")));
  isLimited = false;
  const endedAt = performance.now();
  await third.limiter.unblock(provider.url);
  const [, , own] = await Promise.all(waiting);
  expect((own ?? 0) - endedAt).toBeLessThan(4_000);
  expect(provider.arrivals).toHaveLength(4);
  expect((await other.limiter.peek(provider.url)).blocked).toBe(false);
});

describe("a fetch whose Redis is away", () => {
  test("goes on with its own share, and keeps to cooldowns by itself", async () => {
    const server = await startRedis();
    onTestFinished(() => server.stop());
    let until = 0;
    const provider = await startProvider((number) => {
      if (number === 2) until = performance.now() + 600;
      return performance.now() < until ? tooManyUntil(until) : {};
    });
    const { limiter } = member(
      tokenBucket({ capacity: 50, refill: 50, every: "1s" }),
      server.socket,
    );
    const messages = watchCooldowns();
    const send = limitFetch({ limiter });
    expect((await send(provider.url)).status).toBe(200);
    await server.stop();
    await waitUntil("the limiter decides without Redis", 20_000, async () => {
      const { degraded } = await limiter.peek("someone else");
      return degraded || undefined;
    });
    expect((await send(provider.url)).status).toBe(200);
    const limited = send(provider.url);
    await waitUntil("the cooldown began", 5_000, () => messages[0]);
    expect(messages[0]).toMatchObject({ degraded: true, status: 429 });
    const late = await send(provider.url);
    expect([late.status, (await limited).status]).toEqual([200, 200]);
    expect(provider.statuses()).toEqual([200, 200, 429, 200, 200]);
    const [, , refused, next] = provider.arrivals;
    expect((next?.at ?? 0) - (refused?.at ?? 0)).toBeGreaterThan(590);
    expect((await limitFetch({ limiter, timeout: "100ms" })(provider.url)).status).toBe(200);
  });
});

test("a cooldown that began without Redis holds for the whole fleet once Redis is back", async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const limits = tokenBucket({ capacity: 50, refill: 50, every: "1s" });
  const [one, other] = [member(limits, server.socket), member(limits, server.socket)];
  const isDenied = async () => {
    const { allowed, degraded } = await other.limiter.peek("me");
    return !allowed && !degraded;
  };
  expect(await isDenied()).toBe(false);
  const provider = await startProvider(() => tooManyUntil(performance.now() + 60_000));
  await server.kill();
  const send = limitFetch({ limiter: one.limiter, key: () => "me", timeout: "20s" });
  expect((await send(provider.url)).status).toBe(429);
  await server.restart();
  await expect.poll(isDenied).toBe(true);
  // The store holds it now, so that an operator can end it for this process, too.
  await createAdmin(one.store).unblock({ name: "api", limits }, "me");
  expect((await send(provider.url)).status).toBe(429);
  expect(provider.arrivals).toHaveLength(2);
});

test("a call that waits for a cooldown that began without Redis goes on when the block ends, once Redis is back", async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const { limiter } = member(tokenBucket({ capacity: 50, refill: 50, every: "1s" }), server.socket);
  await limiter.peek("me");
  let isLimited = true;
  const provider = await startProvider(() =>
    isLimited ? tooManyUntil(performance.now() + 300_000) : {},
  );
  await server.kill();
  const send = limitFetch({ limiter, key: () => "me", timeout: "10m", retries: 0 });
  expect((await send(provider.url)).status).toBe(429);
  const waiting = send(provider.url);
  await server.restart();
  await expect.poll(async () => (await limiter.peek("me")).blocked).toBe(true);
  isLimited = false;
  await limiter.unblock("me");
  expect((await waiting).status).toBe(200);
  expect(provider.arrivals).toHaveLength(2);
});

describe("the slots of calls", () => {
  test("are shared by the fleet, and held until the body is read", async () => {
    const provider = await startProvider(() => ({ body: "0123456789" }));
    const limits = concurrency({ limit: 1, ttl: "5s" });
    const [one, other] = [member(limits), member(limits)];
    const key = () => "me";
    const first = await limitFetch({ limiter: one.limiter, key })(provider.url);
    let isThere = false;
    const second = limitFetch({ limiter: other.limiter, key })(provider.url).then((response) => {
      isThere = true;
      return response;
    });
    await delay(600);
    expect(isThere).toBe(false);
    expect(await first.text()).toBe("0123456789");
    expect(await (await second).text()).toBe("0123456789");
  });
});
