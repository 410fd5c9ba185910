import { createLimiter, gcra, memoryStore } from "@headgate/core";
import { rateLimit } from "@headgate/express";
import type { Request, RequestHandler, Response } from "express";
import { expect, test } from "vitest";
import { describeExpress } from "./describe-express.ts";

const limits = gcra({ limit: 2, window: "1h" });

const answer: RequestHandler = (req, res) => {
  res.json({ left: req.rateLimit?.remaining ?? null });
};

describeExpress(({ make, serve }) => {
  test("app.use limits all later middleware, and none before", async () => {
    const { sendRequest } = await serve((app) => {
      app.get("/before", answer);
      app.use(rateLimit({ limits }));
      app.get("/after", answer);
    });
    expect((await sendRequest("/before")).json()).toEqual({ left: null });
    expect((await sendRequest("/after")).json()).toEqual({ left: 1 });
    expect((await sendRequest("/missing")).status).toBe(404);
    expect((await sendRequest("/after")).status).toBe(429);
    expect((await sendRequest("/before")).status).toBe(200);
  });

  test("a mount path has one limit for everything under it", async () => {
    const { sendRequest } = await serve((app) => {
      app.use("/api", rateLimit({ limits }));
      app.use("/api/:version", make.Router().get("/things", answer));
      app.get("/other", answer);
    });
    expect((await sendRequest("/api/v1/things")).json()).toEqual({ left: 1 });
    expect((await sendRequest("/other")).json()).toEqual({ left: null });
    expect((await sendRequest("/api/v2/things")).json()).toEqual({ left: 0 });
    expect((await sendRequest("/api/v1/things")).status).toBe(429);
  });

  test("a router limits its own routes", async () => {
    const { sendRequest } = await serve((app) => {
      const router = make.Router();
      router.use(rateLimit({ limits }));
      router.get("/", answer);
      app.use("/limited", router);
      app.use("/free", make.Router().get("/", answer));
    });
    for (const status of [200, 200, 429])
      expect((await sendRequest("/limited")).status).toBe(status);
    expect((await sendRequest("/free")).status).toBe(200);
  });

  test("a route takes the middleware in an array with other middleware", async () => {
    const order: string[] = [];
    const note =
      (name: string): RequestHandler =>
      (_req, _res, next) => {
        order.push(name);
        next();
      };
    const { sendRequest } = await serve((app) => {
      app.get("/", [note("first"), rateLimit({ limits }), note("second")], note("third"), answer);
    });
    expect((await sendRequest()).json()).toEqual({ left: 1 });
    await sendRequest();
    order.length = 0;
    expect((await sendRequest()).status).toBe(429);
    expect(order).toEqual(["first"]);
  });

  test("route() and all() limit their methods", async () => {
    const { sendRequest } = await serve((app) => {
      app.route("/").post(rateLimit({ limits }), answer).get(answer);
      app.all("/all", rateLimit({ limits }), answer);
    });
    expect((await sendRequest("/", { method: "POST" })).json()).toEqual({ left: 1 });
    expect((await sendRequest("/")).json()).toEqual({ left: null });
    expect((await sendRequest("/all", { method: "POST" })).json()).toEqual({ left: 1 });
    expect((await sendRequest("/all")).json()).toEqual({ left: 0 });
  });

  test("HEAD and GET share one counter", async () => {
    const { sendRequest } = await serve((app) => app.get("/", rateLimit({ limits }), answer));
    expect((await sendRequest("/", { method: "HEAD" })).headers["x-ratelimit-remaining"]).toBe("1");
    expect((await sendRequest("/")).headers["x-ratelimit-remaining"]).toBe("0");
    expect((await sendRequest("/", { method: "HEAD" })).status).toBe(429);
  });

  test("a sub-application counts its own requests after the outer application", async () => {
    const { sendRequest } = await serve((app) => {
      const inner = make();
      inner.use(rateLimit({ limits: gcra({ limit: 9, window: "1h", name: "inner" }) }));
      inner.get("/", answer);
      app.use(rateLimit({ limits: gcra({ limit: 5, window: "1h", name: "outer" }) }));
      app.use("/inner", inner);
    });
    const { headers, json } = await sendRequest("/inner");
    expect(headers["ratelimit"]).toMatch(/^"outer";r=4;.*, "inner";r=8;/);
    expect(json()).toEqual({ left: 4 });
  });

  test("middleware mounted twice counts a request once", async () => {
    const { sendRequest } = await serve((app) => {
      const limited = rateLimit({ limits });
      app.use(limited);
      app.get("/", limited, limited, answer);
    });
    expect((await sendRequest()).json()).toEqual({ left: 1 });
  });

  test("two middlewares with one name on one store count a request once", async () => {
    const store = memoryStore();
    const { sendRequest } = await serve((app) => {
      app.use(rateLimit({ name: "api", limits, store }));
      app.get("/", rateLimit({ name: "api", limits, store }), answer);
    });
    expect((await sendRequest()).json()).toEqual({ left: 1 });
  });

  test("under a mount path, req.ip is the client's, and the key function gets the same request", async () => {
    const urls: string[] = [];
    const { sendRequest } = await serve((app) => {
      const key = (req: Request) => {
        urls.push(req.originalUrl);
        return req.ip;
      };
      app.use("/api", rateLimit({ limits, key }), answer);
    });
    await sendRequest("/api/things?q=1");
    expect(urls).toEqual(["/api/things?q=1"]);
  });

  test("the key function can read the params of the route", async () => {
    const { sendRequest } = await serve((app) => {
      const key = (req: Request) => req.params["tenant"] as string;
      app.get("/:tenant", rateLimit({ limits, key }), answer);
    });
    expect((await sendRequest("/acme")).json()).toEqual({ left: 1 });
    expect((await sendRequest("/other")).json()).toEqual({ left: 1 });
    expect((await sendRequest("/acme")).json()).toEqual({ left: 0 });
  });

  test("the middleware exposes its limiter, and close() closes it", async () => {
    const limited = rateLimit({ limits });
    const { sendRequest } = await serve((app) => app.use(limited, answer));
    await sendRequest();
    await sendRequest();
    expect((await sendRequest()).status).toBe(429);
    expect(await limited.limiter.reset("127.0.0.1")).toBe(true);
    expect((await sendRequest()).status).toBe(200);
    await limited.close();
    await limited.close();
    expect((await sendRequest()).status).toBe(500);
  });

  test("close() leaves open a limiter that was passed in", async () => {
    const limiter = createLimiter({ limits });
    await rateLimit({ limiter }).close();
    expect(await limiter.consume("ann")).toMatchObject({ allowed: true });
  });

  test("responses in chunks and through the raw API have the headers", async () => {
    const { sendRequest } = await serve((app) => {
      app.use(rateLimit({ limits }));
      app.get("/", (_req: Request, res: Response) => {
        res.writeHead(202, { "x-mine": "1" });
        res.write("a");
        res.end("b");
      });
    });
    const { status, headers, text } = await sendRequest();
    expect([status, text]).toEqual([202, "ab"]);
    expect(headers).toMatchObject({ "x-mine": "1", "x-ratelimit-remaining": "1" });
  });
});
