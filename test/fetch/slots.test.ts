import { EventEmitter, once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { Limiter, Store } from "@headgate/core";
import { concurrency, createLimiter, gcra, memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { limitFetch } from "@headgate/fetch";
import { describe, expect, onTestFinished, test } from "vitest";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { startProvider, tooManyUntil } from "./provider.ts";

useLongStoreTimeout();
const redis = useOwnDatabase();

const STORES: Readonly<Record<string, () => Store>> = {
  "in memory": () => memoryStore(),
  "on Redis": () => redisStore(redis, { prefix: `slots-${Math.random()}` }),
};

describe.each(Object.entries(STORES))("a call that holds a slot %s", (_, makeStore) => {
  function start(ttl: `${number}ms` | `${number}s` = "20s"): Limiter {
    const limits = [gcra({ limit: 1_000, window: "1s" }), concurrency({ limit: 1, ttl })];
    const limiter = createLimiter({ name: "api", store: makeStore(), limits });
    onTestFinished(() => limiter.close());
    return limiter as Limiter;
  }

  const isFree = async (limiter: Limiter) => (await limiter.peek("me")).allowed;
  const key = () => "me";

  test("holds it while the request is under way and until its body is read, also for longer than its ttl", async () => {
    const go = new EventEmitter();
    const provider = await startProvider(() => ({
      body: "0123456789",
      begins: once(go, "begin"),
      ends: once(go, "end"),
    }));
    const limiter = start("800ms");
    const called = limitFetch({ limiter, key })(`${provider.url}/path`);
    await delay(1_000);
    expect(await isFree(limiter)).toBe(false);
    go.emit("begin");
    const response = await called;
    const read = response.text();
    await delay(1_000);
    expect(await isFree(limiter)).toBe(false);
    go.emit("end");
    expect(await read).toBe("0123456789");
    await expect.poll(() => isFree(limiter)).toBe(true);
    expect([response.url, response.type, response.redirected, response.bodyUsed]).toEqual([
      `${provider.url}/path`,
      "basic",
      false,
      true,
    ]);
  });

  test("holds it until the bodies of the response and its clone are read", async () => {
    const provider = await startProvider(() => ({ body: '{"a":1}' }));
    const limiter = start();
    const response = await limitFetch({ limiter, key })(provider.url);
    const clone = response.clone();
    expect(clone.url).toBe(response.url);
    expect(await isFree(limiter)).toBe(false);
    expect(await Promise.all([response.json(), clone.json()])).toEqual([{ a: 1 }, { a: 1 }]);
    await expect.poll(() => isFree(limiter)).toBe(true);
  });

  test("releases it when the body is cancelled, is empty, or breaks, and when fetch fails", async () => {
    const provider = await startProvider((number) => ({
      status: number === 1 ? 204 : 200,
      body: "x".repeat(100_000),
    }));
    const limiter = start();
    const send = limitFetch({ limiter, key });
    const response = await send(provider.url);
    expect(await isFree(limiter)).toBe(false);
    await response.body?.cancel();
    await expect.poll(() => isFree(limiter)).toBe(true);
    expect((await send(provider.url)).status).toBe(204);
    await expect.poll(() => isFree(limiter)).toBe(true);
    const abort = new AbortController();
    const aborted = await send(provider.url, { signal: abort.signal });
    abort.abort();
    await expect(aborted.text()).rejects.toThrow();
    await expect.poll(() => isFree(limiter)).toBe(true);
    await expect(send("http://127.0.0.1:1")).rejects.toThrow("fetch failed");
    await expect.poll(() => isFree(limiter)).toBe(true);
    const used = new Request(provider.url, { method: "POST", body: "text" });
    await used.text();
    await expect(send(used)).rejects.toThrow(TypeError);
    await expect.poll(() => isFree(limiter)).toBe(true);
  });

  test("releases it after its ttl if nobody reads the body, which can still be read later", async () => {
    const provider = await startProvider(() => ({ body: "late" }));
    const limiter = start("600ms");
    const response = await limitFetch({ limiter, key })(provider.url);
    await delay(100);
    expect(await isFree(limiter)).toBe(false);
    await expect.poll(() => isFree(limiter)).toBe(true);
    expect(await response.text()).toBe("late");
  });

  test("gives it back before it is sent again", async () => {
    const provider = await startProvider((number) =>
      number === 0 ? tooManyUntil(performance.now() + 100) : {},
    );
    const limiter = start();
    const responses = await Promise.all(
      [1, 2, 3].map(async () => {
        const response = await limitFetch({ limiter, key })(provider.url);
        return [response.status, typeof (await response.text())];
      }),
    );
    expect(responses).toEqual(Array(3).fill([200, "string"]));
    expect(provider.arrivals).toHaveLength(4);
  });
});
