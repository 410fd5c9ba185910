import headgate, { createLimiter, fixedWindow } from "@headgate/fastify";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { useLosableRedis } from "../support/losable-redis.ts";
import { start } from "./start-fastify.ts";

const limits = fixedWindow({ limit: 10, window: "1d" });
const redis = useLosableRedis();

test("a limiter passed to the plugin keeps its own options for outages", async () => {
  const store = await redis.openStore();
  const limiter = createLimiter({
    name: "api",
    limits,
    store,
    storeTimeout: 300,
    onUnavailable: "deny",
  });
  onTestFinished(() => limiter.close());
  const app = Fastify();
  app.register(headgate, { limiter });
  app.get("/", async () => "ok");
  const sendRequest = await start(app);
  expect((await sendRequest()).status).toBe(200);
  redis.lose();
  expect((await sendRequest()).status).toBe(503);
});

test.each([
  { onUnavailable: "deny" },
  { storeTimeout: "50ms" },
  { localShare: 0.5 },
  { denyCache: false },
])("beside a limiter, %j is rejected in the plugin and in a route", async (option) => {
  const limiter = createLimiter({ name: "api", limits });
  const refused = {
    code: "HEADGATE_INVALID_OPTION",
    message: expect.stringContaining("limiter"),
  };
  const beside = Fastify();
  beside.register(headgate, { limits });
  beside.get("/", { config: { rateLimit: { limiter, ...option } as never } }, async () => "ok");
  await expect(beside.ready()).rejects.toMatchObject(refused);
  // A limiter that was handed in cannot be made anew for a route.
  const inherited = Fastify();
  inherited.register(headgate, { limiter });
  inherited.get("/", { config: { rateLimit: option as never } }, async () => "ok");
  await expect(inherited.ready()).rejects.toMatchObject(refused);
  expect((await limiter.consume("u")).remaining).toBe(9);
});

test("on the memory store, onUnavailable of a route has no effect, and it counts with the plugin", async () => {
  const app = Fastify();
  app.register(headgate, { limits, key: () => "one" });
  const config = { rateLimit: { onUnavailable: "deny" } } as const;
  app.get("/", async ({ rateLimit }) => rateLimit);
  app.get("/pay", { config }, async ({ rateLimit }) => rateLimit);
  const sendRequest = await start(app);
  expect((await sendRequest("/")).json()).toMatchObject({ remaining: 9, source: "store" });
  expect((await sendRequest("/pay")).json()).toMatchObject({ remaining: 8, source: "store" });
});

test("closing an application frees the names and monitors of its routes", async () => {
  const store = await redis.openStore();
  for (let i = 0; i < 2; i += 1) {
    const app = Fastify();
    // Another policy under the same name is refused as long as the first is in use.
    app.register(headgate, {
      name: "api",
      limits: fixedWindow({ limit: 10 + i, window: "1d" }),
      store,
    });
    app.get("/", { config: { rateLimit: { onUnavailable: "allow" } } }, async () => "ok");
    await app.ready();
    await app.close();
  }
});
