import type { RouteRateLimitOptions } from "@headgate/fastify";
import headgate, { gcra } from "@headgate/fastify";
import type { FastifyServerOptions } from "fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { start } from "./start-fastify.ts";

const ten = gcra({ limit: 10, window: "1h", name: "ten" });
const two = gcra({ limit: 2, window: "1h", name: "two" });
const rateLimit: RouteRateLimitOptions = { limits: two };

const handler = async () => "ok";

/** An application with the plugin, which routes are added to before or after. */
async function serving(
  build: (app: Fastify.FastifyInstance) => void,
  options?: FastifyServerOptions,
) {
  const app = Fastify(options ?? {});
  app.register(headgate, { limits: ten });
  build(app);
  return start(app);
}

test.each([true, false])(
  "HEAD shares the counter of GET, with exposeHeadRoutes: %s",
  async (expose) => {
    const sendRequest = await serving(
      (app) => {
        app.get("/", { config: { rateLimit } }, handler);
        if (!expose) app.head("/", { config: { rateLimit } }, handler);
      },
      { exposeHeadRoutes: expose },
    );
    expect((await sendRequest("/", { method: "HEAD" })).headers["ratelimit"]).toMatch(/r=1/);
    expect((await sendRequest()).headers["ratelimit"]).toMatch(/r=0/);
    expect((await sendRequest("/", { method: "HEAD" })).status).toBe(429);
    expect((await sendRequest()).status).toBe(429);
  },
);

test("a manual HEAD route beside an exposed one shares the counter of GET", async () => {
  const sendRequest = await serving((app) => {
    app.head("/", { config: { rateLimit } }, handler);
    app.get("/", { config: { rateLimit } }, handler);
  });
  await sendRequest("/", { method: "HEAD" });
  await sendRequest();
  expect((await sendRequest("/", { method: "HEAD" })).status).toBe(429);
});

test("HEAD and GET of one path with different limits fail the boot", async () => {
  const other = { limits: gcra({ limit: 3, window: "1h" }) };
  const serves = serving((app) => {
    app.head("/", { config: { rateLimit: other } }, handler);
    app.get("/", { config: { rateLimit } }, handler);
  });
  await expect(serves).rejects.toMatchObject({ code: "HEADGATE_DUPLICATE_NAME" });
});

test("the methods of one route share one counter", async () => {
  const sendRequest = await serving((app) => {
    app.route({ method: ["GET", "POST", "PUT"], url: "/", config: { rateLimit }, handler });
  });
  await sendRequest("/", { method: "POST" });
  await sendRequest("/", { method: "PUT" });
  expect((await sendRequest("/", { method: "GET" })).status).toBe(429);
  expect((await sendRequest("/", { method: "HEAD" })).status).toBe(429);
});

test("routes of one path have a counter for each method", async () => {
  const sendRequest = await serving((app) => {
    app.get("/", { config: { rateLimit } }, handler);
    app.post("/", { config: { rateLimit } }, handler);
  });
  for (const status of [200, 200, 429]) expect((await sendRequest()).status).toBe(status);
  expect((await sendRequest("/", { method: "POST" })).status).toBe(200);
});

test("all() is one route", async () => {
  const sendRequest = await serving((app) => app.all("/", { config: { rateLimit } }, handler));
  await sendRequest("/", { method: "POST" });
  await sendRequest("/", { method: "DELETE" });
  expect((await sendRequest()).status).toBe(429);
});

test("routes that share one config object have separate counters", async () => {
  const config = { rateLimit };
  const sendRequest = await serving((app) => {
    app.get("/a", { config }, handler);
    app.get("/b", { config }, handler);
  });
  for (const status of [200, 200, 429]) expect((await sendRequest("/a")).status).toBe(status);
  for (const status of [200, 200, 429]) expect((await sendRequest("/b")).status).toBe(status);
});

test("one route in two spellings has one counter", async () => {
  const sendRequest = await serving(
    (app) => {
      app.get("/Things", { config: { rateLimit } }, handler);
    },
    { routerOptions: { caseSensitive: false, ignoreTrailingSlash: true } },
  );
  await sendRequest("/things");
  await sendRequest("/THINGS/");
  expect((await sendRequest("/Things")).status).toBe(429);
});

test("a trailing slash of a prefix does not create a second counter", async () => {
  const sendRequest = await serving((app) => {
    app.register(
      async (scope) => {
        scope.get("/", { config: { rateLimit } }, handler);
      },
      { prefix: "/v1" },
    );
  });
  await sendRequest("/v1");
  await sendRequest("/v1/");
  expect((await sendRequest("/v1")).status).toBe(429);
  expect((await sendRequest("/v1/", { method: "HEAD" })).status).toBe(429);
});
