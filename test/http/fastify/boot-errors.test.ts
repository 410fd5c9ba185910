import type { RouteRateLimitOptions } from "@headgate/fastify";
import headgate, { createLimiter, gcra, memoryStore } from "@headgate/fastify";
import type { FastifyInstance } from "fastify";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";

const limits = gcra({ limit: 9, window: "1h" });

const bad: [what: string, rateLimit: unknown, code: string][] = [
  ["an invalid limit", { limits: gcra({ limit: -1, window: "1h" }) }, "HEADGATE_INVALID_LIMIT"],
  ["another limiter's option", { max: 5 }, "HEADGATE_INVALID_OPTION"],
  ["a misspelt option", { limit: limits }, "HEADGATE_INVALID_OPTION"],
  ["an invalid hook", { hook: "onSend" }, "HEADGATE_INVALID_OPTION"],
  ["an invalid cost", { cost: -1 }, "HEADGATE_INVALID_OPTION"],
  [
    "a dimension without a key",
    { limits: gcra({ limit: 1, window: "1h", per: "tenant" }) },
    "HEADGATE_INVALID_OPTION",
  ],
  ["a name without effect", { name: "api" }, "HEADGATE_INVALID_OPTION"],
  ["a store without effect", { store: memoryStore() }, "HEADGATE_INVALID_OPTION"],
  [
    "a limiter beside limits",
    { limits, limiter: createLimiter({ limits }) },
    "HEADGATE_INVALID_OPTION",
  ],
  ["no limits", { limits: [] }, "HEADGATE_INVALID_LIMIT"],
  ["an extend without effect", { extend: true }, "HEADGATE_INVALID_OPTION"],
  [
    "extend beside a limiter",
    { limiter: createLimiter({ limits }), extend: true },
    "HEADGATE_INVALID_OPTION",
  ],
  ["invalid headers", { headers: "none" }, "HEADGATE_INVALID_OPTION"],
  ["true", true, "HEADGATE_INVALID_OPTION"],
  ["null", null, "HEADGATE_INVALID_OPTION"],
  ["a number", 5, "HEADGATE_INVALID_OPTION"],
  ["zero", 0, "HEADGATE_INVALID_OPTION"],
  ["an empty text", "", "HEADGATE_INVALID_OPTION"],
  ["a list", [limits], "HEADGATE_INVALID_OPTION"],
];

/** What only the making of the route's limiter shows: the keys, for one, may be the plugin's. */
const shownLater = ["a dimension without a key", "a limiter beside limits"];

const plain = async () => "ok";

/** Builds an application up to the moment when it could take requests. */
async function boot(build: (app: FastifyInstance) => unknown): Promise<FastifyInstance> {
  const app = Fastify();
  onTestFinished(() => app.close());
  await build(app);
  await app.ready();
  return app;
}

function addRoute(app: FastifyInstance, rateLimit: unknown): void {
  app.get("/", { config: { rateLimit: rateLimit as RouteRateLimitOptions } }, plain);
}

test.each(bad)(
  "%s in a route before a register that is not awaited fails the boot",
  async (_, rateLimit, code) => {
    const booting = boot((app) => {
      addRoute(app, rateLimit);
      app.register(headgate, { limits });
    });
    await expect(booting).rejects.toMatchObject({ code });
  },
);

test.each(bad)(
  "%s in a route after an awaited register fails the boot",
  async (_, rateLimit, code) => {
    const booting = boot(async (app) => {
      await app.register(headgate, { limits });
      addRoute(app, rateLimit);
    });
    await expect(booting).rejects.toMatchObject({ code });
  },
);

test.each(bad)("%s in a route of a scope fails the boot", async (_, rateLimit, code) => {
  const booting = boot((app) => {
    app.register(async (scope) => addRoute(scope, rateLimit));
    app.register(headgate, { limits });
  });
  await expect(booting).rejects.toMatchObject({ code });
});

test("an option that conflicts with the plugin is rejected where the route is added", async () => {
  await boot(async (app) => {
    await app.register(headgate, { limits });
    expect(() => addRoute(app, { max: 5 })).toThrow(/"max".*limits/);
    for (const [what, rateLimit, code] of bad) {
      if (shownLater.includes(what)) continue;
      expect(() => addRoute(app, rateLimit), what).toThrow(expect.objectContaining({ code }));
    }
  });
});

test("the error message names the route", async () => {
  const booting = boot((app) => {
    app.post("/orders/:id", { config: { rateLimit: { cost: -1 } } }, plain);
    app.register(headgate, { limits });
  });
  await expect(booting).rejects.toThrow(/\/orders\/:id.*cost/);
});

test.each([
  { limits: undefined },
  { limits: [] },
  { max: 5, timeWindow: 1_000 },
  { limits, hook: "onError" },
  { limits, extend: true },
])("a plugin with %j fails the boot", async (options) => {
  await expect(boot((app) => app.register(headgate, options as never))).rejects.toMatchObject({
    code: expect.stringMatching(/^HEADGATE_INVALID_/),
  });
});

test("routes with the same name and other limits fail the boot", async () => {
  const booting = boot((app) => {
    for (const limit of [2, 3]) {
      const rateLimit = { name: "login", limits: gcra({ limit, window: "1h" }) };
      app.get(`/${limit}`, { config: { rateLimit } }, plain);
    }
    app.register(headgate, { limits });
  });
  await expect(booting).rejects.toMatchObject({ code: "HEADGATE_DUPLICATE_NAME" });
});

test("closing an application that failed to boot frees its names", async () => {
  const store = memoryStore();
  const failed = Fastify();
  failed.register(headgate, { name: "api", store, limits });
  failed.register(async (scope) => addRoute(scope, { cost: -1 }));
  await expect(failed.ready()).rejects.toThrow(/cost/);
  await failed.close();
  const other = { name: "api", store, limits: gcra({ limit: 1, window: "1h" }) };
  await boot((app) => app.register(headgate, other));
});

test("an application without Headgate may have another rate limiter's options in its routes", async () => {
  const app = await boot((app) => {
    addRoute(app, { max: 1, timeWindow: "1 minute" });
    app.register(async (scope) => addRoute(scope, { max: 1, timeWindow: "1 minute" }), {
      prefix: "/scope",
    });
  });
  for (const url of ["/", "/scope", "/", "/scope"]) {
    const { statusCode, body, headers } = await app.inject(url);
    expect([statusCode, body, headers["ratelimit"]]).toEqual([200, "ok", undefined]);
  }
});
