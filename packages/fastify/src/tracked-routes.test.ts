import type { FastifyInstance, FastifyRequest, RouteOptions } from "fastify";
import fastify from "fastify";
import { describe, expect, test, vi } from "vitest";
import headgate, { gcra } from "./index.ts";
import type { RouteRateLimitOptions } from "./options.ts";
import { routesIn, trackedRouteOf, trackRoute } from "./tracked-routes.ts";

// Nothing that only Headgate would read: these applications have no plugin.
const rateLimit: RouteRateLimitOptions = { hook: "preHandler" };
const handler = async () => "ok";

// Not by a name that the compiler follows: its types declare the members of an application that ours do.
const { default: otherLimiter } = await import(["@fastify", "rate-limit"].join("/"));

/** The paths of the routes known in a scope: HEAD stands beside its GET. */
function urlsIn(scope: FastifyInstance): string[] {
  return [...new Set(routesIn(scope).map(({ options }) => options.url))];
}

function routeWith(config: object | undefined, url = "/x"): RouteOptions {
  return { method: "GET", url, handler, ...(config && { config }) };
}

describe("tracked routes", () => {
  test("routes with a rate limit are tracked even before a plugin is registered", async () => {
    const app = fastify();
    app.get("/limited", { config: { rateLimit } }, handler);
    app.get("/off", { config: { rateLimit: false } }, handler);
    app.get("/plain", handler);
    app.get("/configured", { config: {} }, handler);
    expect(urlsIn(app)).toEqual(["/limited", "/off"]);
    await app.close();
  });

  test("routes of another application are not listed", async () => {
    const [one, other] = [fastify(), fastify()];
    one.get("/one", { config: { rateLimit } }, handler);
    expect(urlsIn(other)).toEqual([]);
    await Promise.all([one.close(), other.close()]);
  });

  test("routes are tracked for every copy of the package", async () => {
    const app = fastify();
    app.get("/limited", { config: { rateLimit } }, handler);
    vi.resetModules();
    const copy = await import("./tracked-routes.ts");
    expect(copy.routesIn).not.toBe(routesIn);
    expect(copy.routesIn(app)).toEqual(routesIn(app));
    expect(urlsIn(app)).toEqual(["/limited"]);
    await app.close();
  });

  test("a route belongs to its scope and to the scopes around it", async () => {
    const app = fastify();
    let inner: FastifyInstance = app;
    let sibling: FastifyInstance = app;
    app.get("/outer", { config: { rateLimit } }, handler);
    app.register(async (scope) => {
      inner = scope;
      scope.get("/inner", { config: { rateLimit } }, handler);
    });
    app.register(async (scope) => {
      sibling = scope;
    });
    await app.ready();
    expect(urlsIn(app).toSorted()).toEqual(["/inner", "/outer"]);
    expect(urlsIn(inner)).toEqual(["/inner"]);
    expect(urlsIn(sibling)).toEqual([]);
    await app.close();
  });

  test("the route of a request is found through its config", async () => {
    const app = fastify();
    const seen: (string | undefined)[] = [];
    const answer = async (request: FastifyRequest) => {
      seen.push(trackedRouteOf(request.routeOptions.config)?.options.url);
      return "ok";
    };
    app.get("/a/:id", { config: { rateLimit } }, answer);
    app.get("/b", { config: { rateLimit } }, answer);
    app.get("/c", answer);
    for (const url of ["/a/1", "/b", "/c"]) await app.inject(url);
    await app.inject({ method: "HEAD", url: "/b" });
    expect(seen).toEqual(["/a/:id", "/b", undefined, "/b"]);
    await app.close();
  });

  test("a route added by a hook with copied options is a separate route", async () => {
    const app = fastify({ exposeHeadRoutes: false });
    app.addHook("onRoute", (options) => {
      if (options.url === "/v1") app.route({ ...options, url: "/v2" });
    });
    app.get("/v1", { config: { rateLimit } }, handler);
    await app.ready();
    expect(urlsIn(app).toSorted()).toEqual(["/v1", "/v2"]);
    await app.close();
  });
});

describe("the mark in a route's config", () => {
  test("the mark keeps the other properties of the config, and is not enumerable as a string", () => {
    const app = fastify();
    const config = { rateLimit, title: "x" };
    const options = routeWith(config);
    trackRoute(app, options);
    expect(options.config).toMatchObject({ rateLimit, title: "x" });
    expect(Object.keys(options.config ?? {})).toEqual(["rateLimit", "title"]);
    expect(Object.getOwnPropertySymbols(config)).toEqual([]);
    expect(trackedRouteOf(options.config ?? {})?.options === options).toBe(true);
  });

  test("a route is marked once, however many plugins there are", () => {
    const app = fastify();
    const options = routeWith({ rateLimit });
    trackRoute(app, options);
    const { config } = options;
    trackRoute(app, options);
    expect(options.config === config).toBe(true);
    expect(urlsIn(app)).toEqual(["/x"]);
  });

  test("two routes that share one config object get two marks", () => {
    const app = fastify();
    const config = { rateLimit };
    const urls = ["/a", "/b"].map((url) => {
      const options = routeWith(config, url);
      trackRoute(app, options);
      return trackedRouteOf(options.config ?? {})?.options.url;
    });
    expect(urls).toEqual(["/a", "/b"]);
  });

  test("the GET route of a HEAD route is found quickly among many routes", () => {
    const app = fastify();
    let looks = 0;
    const addRoute = (i: number): void => {
      const options = routeWith({ rateLimit }, `/${i}`);
      const seen = Object.defineProperty({ ...options }, "url", {
        get() {
          looks += 1;
          return options.url;
        },
      });
      trackRoute(app, seen);
      const head = { ...options, method: "HEAD" as const };
      trackRoute(app, head);
      expect(trackedRouteOf(head.config ?? {})?.options).toBe(seen);
    };
    for (let i = 0; i < 100; i += 1) addRoute(i);
    expect(looks).toBe(100);
  });

  test("a route without a rate limit gets no mark", () => {
    const app = fastify();
    for (const config of [undefined, {}, { title: "x" }]) {
      const options = routeWith(config);
      trackRoute(app, options);
      expect(options.config).toBe(config);
      expect(trackedRouteOf(options.config ?? {})).toBeUndefined();
    }
    expect(urlsIn(app)).toEqual([]);
  });
});

describe("routes with a rate limit outside any plugin's scope", () => {
  async function errorOf(build: (app: FastifyInstance) => void): Promise<unknown> {
    const app = fastify();
    build(app);
    return app.ready().then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  test.each([{ limits: [] }, { cost: 5 }, { extend: true }, { limiter: {} }])(
    "a route is rejected if only Headgate has the option: %j",
    async (config) => {
      const error = await errorOf((app) =>
        app.get("/x", { config: { rateLimit: config as never } }, handler),
      );
      expect(error).toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
      expect((error as Error).message).toContain("the route GET /x has config.rateLimit");
    },
  );

  test.each([{ max: 3, timeWindow: "1 minute" }, {}, true, false, undefined])(
    "a route is ignored if Headgate is not registered: %j",
    async (config) => {
      const error = await errorOf((app) =>
        app.get("/x", { config: { rateLimit: config as never } }, handler),
      );
      expect(error).toBeUndefined();
    },
  );

  test.each([{ max: 3 }, {}, true])(
    "a route is rejected if a plugin is registered in another scope: %j",
    async (config) => {
      const error = await errorOf((app) => {
        app.register(async (scope) => {
          await scope.register(headgate, { limits: gcra({ limit: 1, window: "1h" }) });
        });
        app.get("/x", { config: { rateLimit: config as never } }, handler);
        app.get("/free", { config: { rateLimit: false } }, handler);
      });
      expect(error).toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
      expect((error as Error).message).toContain("GET /x");
    },
  );

  test.each([{ max: 3 }, {}])(
    "a route in the scope of another rate limiter's plugin is ignored: %j",
    async (config) => {
      const error = await errorOf((app) => {
        app.register(async (scope) => {
          await scope.register(headgate, { limits: gcra({ limit: 1, window: "1h" }) });
        });
        app.register(async (scope) => {
          await scope.register(otherLimiter, { max: 100 });
          scope.get("/x", { config: { rateLimit: config as never } }, handler);
        });
      });
      expect(error).toBeUndefined();
    },
  );

  test("a route in the scope of another rate limiter is rejected if it has options of Headgate", async () => {
    const error = await errorOf((app) => {
      app.register(async (scope) => {
        await scope.register(otherLimiter, { max: 100 });
        scope.get("/x", { config: { rateLimit: { cost: 2 } } }, handler);
      });
    });
    expect(error).toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
  });

  test("a route in the scope of a plugin, or inside it, is accepted", async () => {
    const error = await errorOf((app) => {
      app.get("/before", { config: { rateLimit: { cost: 2 } } }, handler);
      app.register(headgate, { limits: gcra({ limit: 2, window: "1h" }) });
      app.register(async (scope) => {
        scope.get("/inside", { config: { rateLimit: { cost: 2 } } }, handler);
      });
    });
    expect(error).toBeUndefined();
  });
});
