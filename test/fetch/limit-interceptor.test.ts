import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { Limit, Limiter, Store } from "@headgate/core";
import { concurrency, createLimiter, fixedWindow, gcra, memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import type { LimitInterceptorOptions } from "@headgate/fetch";
import { limitFetch, limitInterceptor } from "@headgate/fetch";
import { Agent, Pool, fetch as undiciFetch } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startProvider, tooManyUntil } from "./provider.ts";

useLongStoreTimeout();
const redis = useOwnDatabase();

const PLENTY = gcra({ limit: 10_000, window: "1s" });

const STORES: Readonly<Record<string, () => Store>> = {
  "in memory": () => memoryStore(),
  "on Redis": () => redisStore(redis, { prefix: `undici-${Math.random()}` }),
};

describe.each(Object.entries(STORES))("an undici dispatcher with a limiter %s", (_, makeStore) => {
  function start(limits: Limit | readonly Limit[] = PLENTY): Limiter {
    const limiter = createLimiter({ name: "api", store: makeStore(), limits: limits as Limit });
    onTestFinished(() => limiter.close());
    return limiter as Limiter;
  }

  function compose(options: LimitInterceptorOptions) {
    const agent = new Agent();
    onTestFinished(() => agent.destroy());
    return agent.compose(limitInterceptor(options));
  }

  test("answers as it does without one: request, stream, and both kinds of fetch", async () => {
    const provider = await startProvider((_, { method }, body) => ({
      status: 201,
      headers: { "x-method": method as string },
      body: `got ${body}`,
    }));
    const dispatcher = compose({ limiter: start() });
    const made = { method: "POST", body: "text" } as const;
    const response = await dispatcher.request({
      origin: provider.url,
      path: "/request?a=1",
      ...made,
    });
    expect([response.statusCode, response.headers["x-method"]]).toEqual([201, "POST"]);
    expect(await response.body.text()).toBe("got text");
    const fetches = [undiciFetch, fetch] as unknown as (typeof fetch)[];
    for (const send of fetches) {
      const answer = await send(`${provider.url}/fetch`, {
        ...made,
        dispatcher,
      } as unknown as RequestInit);
      expect([answer.status, answer.headers.get("x-method")]).toEqual([201, "POST"]);
      expect(await answer.text()).toBe("got text");
    }
    expect(provider.arrivals.map(({ path, body }) => `${path} ${body}`)).toEqual([
      "/request?a=1 text",
      "/fetch text",
      "/fetch text",
    ]);
  });

  test("passes large bodies on with their backpressure", async () => {
    const text = "x".repeat(3_000_000);
    const provider = await startProvider((number) => ({
      status: number === 1 ? 429 : 200,
      body: text,
    }));
    const dispatcher = compose({ limiter: start(), retries: 0 });
    const path = "/";
    const first = await dispatcher.request({ origin: provider.url, path, method: "GET" });
    await delay(50);
    expect((await first.body.text()).length).toBe(text.length);
    // Too long to be kept until it is known whether to send the request again.
    const second = await dispatcher.request({ origin: provider.url, path, method: "GET" });
    expect([second.statusCode, (await second.body.text()).length]).toEqual([429, text.length]);
  });

  test("sends again after a 429, and passes on only the last response", async () => {
    const provider = await startProvider((number) =>
      number < 2 ? tooManyUntil(performance.now() + 150) : {},
    );
    const limiter = start();
    const dispatcher = compose({ limiter });
    const sent = { origin: provider.url, path: "/", method: "POST", body: "text" } as const;
    const response = await dispatcher.request(sent);
    expect([response.statusCode, await response.body.text()]).toEqual([200, "answer 2"]);
    expect(provider.arrivals.map(({ body, status }) => [body, status])).toEqual([
      ["text", 429],
      ["text", 429],
      ["text", 200],
    ]);
    const [first, second, third] = provider.arrivals.map(({ at }) => at);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(140);
    expect((third ?? 0) - (second ?? 0)).toBeGreaterThan(140);
  });

  test("passes a 429 on after its retries, for a stream, and if the cooldown is too long to wait for", async () => {
    const provider = await startProvider((number) =>
      tooManyUntil(performance.now() + (number === 4 ? 60_000 : 20)),
    );
    const limiter = start();
    const sent = { origin: provider.url, path: "/", method: "POST" } as const;
    const twice = await compose({ limiter, retries: 1 }).request(sent);
    expect([twice.statusCode, await twice.body.text()]).toEqual([429, "slow down"]);
    const once = compose({ limiter });
    const streamed = await once.request({ ...sent, body: Readable.from(["a"]) });
    expect([streamed.statusCode, await streamed.body.text()]).toEqual([429, "slow down"]);
    expect(provider.arrivals).toHaveLength(3);
    await delay(30);
    await compose({ limiter, retries: 0 }).request(sent);
    await delay(30);
    const late = await compose({ limiter, timeout: "1s" }).request(sent);
    expect([late.statusCode, provider.arrivals.length]).toEqual([429, 5]);
  });

  test("hears GitHub's secondary limits, and shares its limiter with a fetch", async () => {
    const provider = await startProvider(() => ({
      status: 403,
      headers: { "content-type": "application/json", "x-github-request-id": "1" },
      body: '{"message":"You have exceeded a secondary rate limit."}',
    }));
    const limiter = start();
    const response = await compose({ limiter, retries: 0 }).request({
      origin: provider.url,
      path: "/",
      method: "GET",
    });
    expect(await response.body.json()).toHaveProperty("message");
    await expect(limitFetch({ limiter, timeout: "50ms" })(provider.url)).rejects.toMatchObject({
      code: "HEADGATE_WAIT_TIMEOUT",
    });
  });

  test("ends at an abort in line, and at one during the answer", async () => {
    const provider = await startProvider(() => ({ begins: new Promise(() => {}) }));
    const limiter = start(fixedWindow({ limit: 1, window: "1h" }));
    const dispatcher = compose({ limiter });
    const abort = new AbortController();
    const sent = { origin: provider.url, path: "/", method: "GET", signal: abort.signal } as const;
    const calls = [dispatcher.request(sent), dispatcher.request(sent)];
    const ended = Promise.allSettled(calls);
    await waitUntil("the first request arrives", 5_000, () => provider.arrivals[0]);
    const reason = new Error("no longer wanted");
    abort.abort(reason);
    expect((await ended).map((one) => one.status === "rejected" && one.reason)).toEqual([
      reason,
      reason,
    ]);
    expect(provider.arrivals).toHaveLength(1);
    expect((await limiter.peek(provider.url, { cost: 0 })).remaining).toBe(0);
  });

  test("rejects with the errors of the limiter, of the application, and of undici", async () => {
    const provider = await startProvider(() => ({}));
    const limiter = start(fixedWindow({ limit: 1, window: "1h" }));
    const sent = { origin: provider.url, path: "/", method: "GET" } as const;
    const dispatcher = compose({ limiter, timeout: "100ms" });
    await dispatcher.request(sent);
    await expect(dispatcher.request(sent)).rejects.toMatchObject({ code: "HEADGATE_WAIT_TIMEOUT" });
    const own = new Error("own");
    const failing = compose({
      limiter,
      key() {
        throw own;
      },
    });
    await expect(failing.request(sent)).rejects.toBe(own);
    await expect(
      compose({ limiter: start() }).request({ ...sent, origin: "http://127.0.0.1:1" }),
    ).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await expect(
      compose({ limiter: start() }).request({ ...sent, method: "NO METHOD" as "GET" }),
    ).rejects.toThrow("invalid request method");
  });

  test("needs a key if its requests name no origin", async () => {
    const provider = await startProvider(() => ({}));
    const limiter = start();
    const pool = new Pool(provider.url);
    onTestFinished(() => pool.destroy());
    const sent = { path: "/", method: "GET" } as never;
    await expect(pool.compose(limitInterceptor({ limiter })).request(sent)).rejects.toMatchObject({
      code: "HEADGATE_EMPTY_KEY",
    });
    const keyed = pool.compose(limitInterceptor({ limiter, key: () => "me" }));
    expect((await keyed.request(sent)).statusCode).toBe(200);
  });

  test("passes its key and cost functions what they need, and settles by the response", async () => {
    const provider = await startProvider(() => ({ headers: { "x-cost": "7" } }));
    const limiter = start(fixedWindow({ limit: 100, window: "1h" }));
    const asked: string[] = [];
    const dispatcher = compose({
      limiter,
      key: ({ headers }) => headers.get("x-key") ?? "",
      cost({ url, method, body }) {
        asked.push(`${method} ${url.pathname} ${body}`);
        return 20;
      },
      settle: ({ status, headers }) => (status === 200 ? Number(headers.get("x-cost")) : undefined),
    });
    const given = [{ "x-key": "me" }, ["x-key", "me"], new Map([["x-key", "me"]])];
    for (const headers of given) {
      const sent = { origin: provider.url, path: "/a?b", method: "PUT", body: "text" } as const;
      await (await dispatcher.request({ ...sent, headers: headers as never })).body.text();
    }
    expect(asked).toEqual(Array(3).fill("PUT /a text"));
    await expect.poll(async () => (await limiter.peek("me", { cost: 0 })).remaining).toBe(79);
  });

  test("holds slots until the body is read, the request fails, or nobody reads for the ttl", async () => {
    const provider = await startProvider((number) => ({
      body: number === 1 ? "x".repeat(2_000_000) : "short",
      ends: number === 0 ? 300 : 0,
    }));
    const limiter = start([PLENTY, concurrency({ limit: 1, ttl: "400ms" })]);
    const dispatcher = compose({ limiter, key: () => "me" });
    const isFree = async () => (await limiter.peek("me")).allowed;
    const sent = { origin: provider.url, path: "/", method: "GET" } as const;
    const first = await dispatcher.request(sent);
    expect(await isFree()).toBe(false);
    await first.body.text();
    await expect.poll(isFree).toBe(true);
    const unread = await dispatcher.request(sent);
    await delay(200);
    expect(await isFree()).toBe(false);
    await expect.poll(isFree).toBe(true);
    expect((await unread.body.text()).length).toBe(2_000_000);
    const refused = dispatcher.request({ ...sent, origin: "http://127.0.0.1:1" });
    await expect(refused).rejects.toThrow();
    await expect.poll(isFree).toBe(true);
  });
});
