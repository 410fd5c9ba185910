import { createLimiter, gcra, memoryStore } from "@headgate/core";
import { byHeader, byTier } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { SharedOptions } from "./support/framework.ts";
import { uniquePrefix, useRedis } from "./support/redis-client.ts";

const three = gcra({ limit: 3, window: "1h" });
const four = gcra({ limit: 4, window: "1h" });

describeAdapters(({ serve }) => {
  const redis = useRedis();

  test("routes with the same name share one counter", async () => {
    const store = memoryStore();
    const limits = { name: "login", limits: three, store };
    const { sendRequest } = await serve({ routes: { "/web": { limits }, "/app": { limits } } });
    const statuses: number[] = [];
    for (const path of ["/web", "/app", "/web", "/app", "/web"]) {
      statuses.push((await sendRequest(path)).status);
    }
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
  });

  test("applications on one Redis with the same name share one counter", async () => {
    const prefix = uniquePrefix();
    const limits = () => ({
      name: "api",
      limits: three,
      store: redisStore(redis, { prefix }),
      storeTimeout: "1m" as const,
    });
    const sites = [await serve({ limits: limits() }), await serve({ limits: limits() })];
    const left: (string | undefined)[] = [];
    for (const { sendRequest } of sites)
      left.push((await sendRequest()).headers["x-ratelimit-remaining"]);
    expect(left).toEqual(["2", "1"]);
  });

  test("different names have separate counters, even with equal limits on one store", async () => {
    const store = memoryStore();
    const { sendRequest } = await serve({
      routes: {
        "/web": { limits: { name: "web", limits: three, store } },
        "/app": { limits: { name: "app", limits: three, store } },
      },
    });
    expect((await sendRequest("/web")).headers["x-ratelimit-remaining"]).toBe("2");
    expect((await sendRequest("/app")).headers["x-ratelimit-remaining"]).toBe("2");
  });

  test("the same name with another policy is an error at construction", async () => {
    const store = memoryStore();
    const serving = serve({
      routes: {
        "/web": { limits: { name: "login", limits: three, store } },
        "/app": { limits: { name: "login", limits: four, store } },
      },
    });
    await expect(serving).rejects.toMatchObject({
      code: "HEADGATE_DUPLICATE_NAME",
      message: expect.stringContaining('"login"'),
    });
  });

  test("a store requires a name", async () => {
    for (const name of [undefined, "", 5]) {
      const limits = { name: name as never, limits: three, store: memoryStore() };
      await expect(serve({ limits })).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
    }
  });

  test("closing a site frees its names", async () => {
    const store = memoryStore();
    const first = await serve({
      limits: { name: "api", limits: three, store },
      routes: { "/": { limits: { name: "route", limits: three, store } } },
    });
    await first.close();
    const second = await serve({
      limits: { name: "api", limits: four, store },
      routes: { "/": { limits: { name: "route", limits: four, store } } },
    });
    expect((await second.sendRequest()).headers["x-ratelimit-limit"]).toBe("4");
  });

  test("closing a site closes neither the limiter nor the client that it was given", async () => {
    const limiter = createLimiter({
      name: "given",
      limits: three,
      store: redisStore(redis, { prefix: uniquePrefix() }),
    });
    const { close } = await serve({ limits: { limiter } });
    await close();
    expect(await limiter.consume("ann")).toMatchObject({ allowed: true });
  });

  test("a closed limiter causes errors, and denies nothing silently", async () => {
    const limiter = createLimiter({ limits: three });
    const { sendRequest, errors, handled } = await serve({ limits: { limiter } });
    await limiter.close();
    expect((await sendRequest()).status).toBe(500);
    expect(errors).toMatchObject([{ code: "HEADGATE_CLOSED" }]);
    expect(handled).toEqual([]);
  });

  test("a failed construction leaves no name in use", async () => {
    const store = memoryStore();
    const failing: Partial<SharedOptions>[] = [
      { limits: gcra({ limit: 1, window: "1h", per: "tenant" }) },
      { limits: three, headers: { legacy: "yes" as never } },
      { limits: byTier({ a: three, b: gcra({ limit: -1, window: "1h" }) }, () => "a") },
    ];
    for (const options of failing) {
      await expect(serve({ limits: { name: "api", store, ...options } })).rejects.toThrow();
    }
    await serve({ limits: { name: "api", store, limits: four } });
    await serve({ limits: { name: "api (a)", store, limits: four } });
  });

  test("a name of an object member is an ordinary name", async () => {
    const { sendRequest } = await serve({
      limits: {
        name: "__proto__",
        store: memoryStore(),
        limits: gcra({ limit: 2, window: "1h", per: "constructor" }),
        key: { constructor: byHeader("x-user") },
      },
    });
    expect((await sendRequest()).headers["x-ratelimit-remaining"]).toBe("1");
    expect((await sendRequest()).headers["x-ratelimit-remaining"]).toBe("0");
  });
});
