import Fastify from "fastify";
import { expect, test } from "vitest";
import { start } from "./start-fastify.ts";

/*
 * An application may be made before Headgate is loaded, which then hears of its routes only from requests. This suite has
 * to be the first in its process to load it.
 */

const two = { algorithm: "gcra", limit: 2, window: "1h", name: "two" } as const;
const one = { algorithm: "gcra", limit: 1, window: "1h", name: "one" } as const;

test("routes added before Headgate was loaded have their limits", async () => {
  const app = Fastify();
  const config = (rateLimit: object | false) => ({ config: { rateLimit } }) as object;
  app.get("/own", config({ limits: two }), async () => "own");
  app.get("/other", config({ limits: two }), async () => "other");
  app.get("/free", config(false), async () => "free");
  app.get("/dear", config({ cost: 3 }), async () => "dear");
  const key = ({ query }: { query: { id: string } }) => query.id;
  app.addHook("preHandler", async (request) => {
    Object.assign(request, { query: { id: request.url.slice(-1) } });
  });
  app.get("/later", config({ limits: one, hook: "preHandler", key }), async () => "later");
  app.get("/bad", config({ limits: { ...two, limit: -1 } }), async () => "bad");
  app.post("/own", config({ limits: one }), async () => "posted");
  const byHost = (host: string, limits: object) => ({
    ...config({ limits }),
    constraints: { host },
  });
  app.get("/hosts", byHost("a.example", two), async () => "a");
  app.get("/hosts", byHost("b.example", one), async () => "b");
  const byVersion = (version: string) => ({ ...config({ limits: two }), constraints: { version } });
  app.get("/versions", byVersion("1.0.0"), async () => "first");
  app.get("/versions", byVersion("2.0.0"), async () => "second");
  const { default: headgate } = await import("@headgate/fastify");
  app.register(headgate, { limits: { ...two, limit: 10, name: "ten" } });
  const sendRequest = await start(app);

  for (const status of [200, 200, 429]) expect((await sendRequest("/own")).status).toBe(status);
  expect((await sendRequest("/own", { method: "HEAD" })).status).toBe(429);
  expect((await sendRequest("/own", { method: "POST" })).headers["ratelimit"]).toMatch(/^"one"/);
  expect((await sendRequest("/other")).headers["ratelimit"]).toMatch(/^"two";r=1;/);
  expect((await sendRequest("/free")).headers).not.toHaveProperty("ratelimit");
  expect((await sendRequest("/dear")).headers["ratelimit"]).toMatch(/^"ten";r=7;/);
  for (const status of [200, 429]) expect((await sendRequest("/later?a")).status).toBe(status);
  expect((await sendRequest("/later?b")).status).toBe(200);
  for (const status of [500, 500]) expect((await sendRequest("/bad")).status).toBe(status);
  const version = (text: string) =>
    sendRequest("/versions", { headers: { "accept-version": text } });
  for (const status of [200, 200, 429]) expect((await version("1.x")).status).toBe(status);
  // What tells versions apart is not to be seen from a request: the routes of one path share one budget.
  expect((await version("2.x")).status).toBe(429);
  // With limits of its own each has a budget of its own, and none is a 500 because another one came first.
  const host = (name: string) => sendRequest("/hosts", { headers: { host: name } });
  for (const status of [200, 429]) expect((await host("b.example")).status).toBe(status);
  for (const status of [200, 200, 429]) expect((await host("a.example")).status).toBe(status);
});
