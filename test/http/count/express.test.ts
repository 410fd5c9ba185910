import { createLimiter, fixedWindow } from "@headgate/core";
import { rateLimit } from "@headgate/express";
import type { ErrorRequestHandler, Request } from "express";
import express from "express";
import { request } from "undici";
import { expect, test } from "vitest";
import { describeExpress } from "../express/describe-express.ts";
import { countUsage } from "./stores.ts";

const limits = fixedWindow({ limit: 100, window: "1h" });

describeExpress(({ serve, make }) => {
  test("a response of the error handler counts, whenever it is sent", async () => {
    const limiter = createLimiter({ limits });
    const { sendRequest } = await serve((app) => {
      app.use(rateLimit({ limiter, count: "failed" }));
      app.get("/mended", (_req, _res, next) => next(new Error("a small one")));
      app.get("/broken", () => {
        throw new Error("a bug");
      });
      const onError: ErrorRequestHandler = (_error, req, res, _next) => {
        setImmediate(() => res.status(req.path === "/mended" ? 200 : 500).end());
      };
      app.use(onError);
    });
    const { used } = countUsage(limiter);
    expect((await sendRequest("/mended")).status).toBe(200);
    expect(await used()).toBe(0);
    expect((await sendRequest("/broken")).status).toBe(500);
    expect(await used()).toBe(1);
  });

  test("an invalid request body counts as failed, and a 304 response as succeeded", async () => {
    const limiter = createLimiter({ limits });
    const { port } = await serve((app) => {
      app.use(rateLimit({ limiter, count: "failed" }), make.json({ limit: 10 }));
      app.all("/", (_req, res) => {
        res.set("etag", '"1"').send("same");
      });
      const quiet: ErrorRequestHandler = (error, _req, res, _next) => {
        res.status(error.status).end();
      };
      app.use(quiet);
    });
    const { used } = countUsage(limiter);
    const asked: unknown[] = [];
    for (const [body, headers] of [
      ["{", {}],
      ['"longer than ten"', {}],
      ["{}", {}],
      [undefined, { "if-none-match": '"1"' }],
    ] as const) {
      const before = await used();
      const { statusCode, body: answer } = await request(`http://127.0.0.1:${port}/`, {
        method: body === undefined ? "GET" : "POST",
        headers: { ...headers, "content-type": "application/json" },
        ...(body === undefined ? {} : { body }),
      });
      await answer.dump();
      asked.push([statusCode, (await used()) - before]);
    }
    expect(asked).toEqual([
      [400, 1],
      [413, 1],
      [200, 0],
      [304, 0],
    ]);
  });

  test("settle and refund of the limiter's own decision take precedence over count", async () => {
    const limiter = createLimiter({
      limits: ["ip", "user"].map((per) => fixedWindow({ limit: 100, window: "1h", per })),
    });
    const user = (req: Request) => req.get("x-late");
    const options = { limiter, missingKey: "skip", key: { user }, count: () => 50 } as const;
    const limit = rateLimit(options);
    const { sendRequest } = await serve((app) => {
      app.use(limit, (req, _res, next) => {
        req.headers["x-late"] = "ann";
        next();
      });
      app.use(rateLimit(options));
      app.get("/settled", async (req, res) => {
        await limit.decisionOf(req)?.settle(3);
        res.end();
      });
      app.get("/under-way", (req, res) => {
        void limit.decisionOf(req)?.settle(3);
        res.end();
      });
      app.get("/given-back", (req, res) => {
        res.on("finish", () => void limit.decisionOf(req)?.refund());
        res.end();
      });
    });
    for (const [path, used] of [
      ["/settled", 3],
      ["/under-way", 6],
      ["/given-back", 6],
      ["/nowhere", 56],
    ] as const) {
      await sendRequest(path);
      const { used: now } = countUsage(limiter, { ip: "127.0.0.1", user: "ann" });
      expect([path, await now()]).toEqual([path, used]);
      const { limits } = await limiter.peek({ ip: "127.0.0.1", user: "ann" }, { cost: 0 });
      expect(limits.map(({ remaining }) => remaining)).toEqual([100 - used, 100 - used]);
    }
  });

  test("the response gets no listener if every response counts", async () => {
    const listening = async (middleware: express.RequestHandler[]) => {
      let count = 0;
      const { sendRequest } = await serve((app) => {
        app.use(...middleware, (_req: Request, res: express.Response) => {
          count = res.listenerCount("finish") + res.listenerCount("close");
          res.end();
        });
      });
      await sendRequest();
      return count;
    };
    const none = await listening([(_req, _res, next) => next()]);
    const limit = (count?: "all" | "failed") =>
      rateLimit({ limits, count }) as express.RequestHandler;
    expect(await listening([limit(), limit("all")])).toBe(none);
    expect(await listening([limit("failed")])).toBe(none + 2);
  });

  test("a sent file counts as succeeded, and a missing file as failed", async () => {
    const limiter = createLimiter({ limits });
    const { sendRequest } = await serve((app) => {
      app.use(rateLimit({ limiter, count: "failed" }));
      app.use(express.static(import.meta.dirname));
    });
    const { used } = countUsage(limiter);
    expect((await sendRequest("/express.test.ts")).status).toBe(200);
    expect(await used()).toBe(0);
    expect((await sendRequest("/none.test.ts")).status).toBe(404);
    expect(await used()).toBe(1);
  });
});
