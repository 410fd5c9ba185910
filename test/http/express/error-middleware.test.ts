import { gcra, memoryStore } from "@headgate/core";
import { HeadgateDeniedError, rateLimit } from "@headgate/express";
import type { ErrorRequestHandler } from "express";
import { expect, test } from "vitest";
import { secondsLeft } from "../support/seconds-left.ts";
import { describeExpress } from "./describe-express.ts";

const limits = gcra({ limit: 1, window: "1h" });

describeExpress(({ make, serve }) => {
  const answer: ErrorRequestHandler = (error, _req, res, _next) => {
    res.status(error.status ?? 500).send(`${error.code}`);
  };

  test("errors reach the router's error middleware first, then the application's", async () => {
    const seen: string[] = [];
    const note =
      (name: string): ErrorRequestHandler =>
      (error, _req, _res, next) => {
        seen.push(`${name} ${error instanceof HeadgateDeniedError}`);
        next(error);
      };
    const { sendRequest } = await serve((app) => {
      const router = make.Router();
      router.use(rateLimit({ limits, onDenied: "error" }), (_req, res) => res.end("ok"));
      router.use(note("router"));
      app.use(router);
      app.use(note("app"), answer);
    });
    await sendRequest();
    const denied = await sendRequest();
    expect(denied).toMatchObject({ status: 429, text: "HEADGATE_DENIED" });
    expect(denied.headers["retry-after"]).toEqual(secondsLeft(3_600));
    expect(seen).toEqual(["router true", "app true"]);
  });

  test("a limiter that failed is called again where it is mounted again", async () => {
    const clock = { now: Number.NaN };
    const store = memoryStore({ clock: () => clock.now });
    const limited = rateLimit({ name: "api", limits, store });
    const mend: ErrorRequestHandler = (_error, _req, _res, next) => {
      clock.now = 1_800_000_000_000;
      next();
    };
    const { sendRequest } = await serve((app) => {
      app.use(limited, mend);
      app.use(limited, (_req, res) => res.end("ok"));
    });
    const allowed = await sendRequest();
    expect(allowed.status).toBe(200);
    expect(allowed.headers["x-ratelimit-remaining"]).toBe("0");
    expect((await sendRequest()).status).toBe(429);
  });

  test("requests that fail in other middleware have been counted, and have the headers", async () => {
    const { sendRequest } = await serve((app) => {
      app.use(rateLimit({ limits }));
      app.get("/", () => {
        throw new Error("mine");
      });
    });
    const failed = await sendRequest();
    expect(failed.status).toBe(500);
    expect(failed.headers["x-ratelimit-remaining"]).toBe("0");
    expect((await sendRequest()).status).toBe(429);
  });

  test("later error middleware is not called for responses of Headgate", async () => {
    const seen: unknown[] = [];
    const note: ErrorRequestHandler = (error, _req, _res, next) => {
      seen.push(error);
      next(error);
    };
    const { sendRequest } = await serve((app) => {
      app.use(rateLimit({ limits }), (_req, res) => res.end("ok"));
      app.use(note);
    });
    await sendRequest();
    expect((await sendRequest()).status).toBe(429);
    expect(seen).toEqual([]);
  });

  test("a handler that throws synchronously is called once, and its error is not treated as the limiter's", async () => {
    let calls = 0;
    const { sendRequest } = await serve((app) => {
      app.use(rateLimit({ limits: gcra({ limit: 9, window: "1h" }) }));
      app.use((_req, _res, next) => {
        calls += 1;
        next(Object.assign(new Error("mine"), { status: 418, code: "MINE" }));
      });
      app.use(answer);
    });
    expect(await sendRequest()).toMatchObject({ status: 418, text: "MINE" });
    expect(calls).toBe(1);
  });
});
