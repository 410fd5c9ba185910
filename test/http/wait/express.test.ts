import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { createLimiter, gcra, memoryStore, rateLimit, slidingLog } from "@headgate/express";
import type { RequestHandler } from "express";
import express5 from "express";
import express4 from "express4";
import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { listen } from "../support/listen.ts";
import { manualClock } from "../support/manual-clock.ts";
import { createHttpClient } from "../support/send-request.ts";
import { sendAndWait, watchQueue } from "./waiting-clients.ts";

const hourly = slidingLog({ limit: 1, window: "1h", name: "hourly" });

describe.each([
  ["Express 4", express4],
  ["Express 5", express5],
])("in %s", (_, makeApp) => {
  async function serve(...handlers: RequestHandler[]) {
    const app = makeApp();
    app.use(...handlers);
    const server = await listen(app);
    return createHttpClient(server.address() as AddressInfo);
  }

  const limitedBy = (options: Parameters<typeof rateLimit>[0]) =>
    rateLimit(options) as RequestHandler;

  test("Server-Timing is appended to the application's own, and the application's to it", async () => {
    const clock = manualClock();
    const store = memoryStore({ clock: clock.now });
    const { sendRequest, end } = await serve(
      (_req, res, next) => {
        res.setHeader("Server-Timing", ["app;dur=1", "db;dur=2"]);
        next();
      },
      limitedBy({ name: "api", limits: gcra({ limit: 1, window: "50ms" }), store, wait: "10s" }),
      (_req, res) => void res.append("Server-Timing", "view;dur=3").send("ok"),
    );
    await sendRequest();
    const { headers } = await sendAndWait(sendRequest, clock, 50);
    expect([headers["server-timing"]].flat().join(", ").replaceAll(/,\s*/g, ", ")).toMatch(
      /^app;dur=1, db;dur=2, headgate;dur=\d+\.\d, view;dur=3$/,
    );
    await end();
  });

  test("a request that a timeout answers while it waits leaves the queue", async () => {
    const limiter = createLimiter({ limits: hourly, maxQueue: 1 });
    await limiter.consume("127.0.0.1");
    let handled = 0;
    const { sendRequest, end } = await serve(
      (_req, res, next) => {
        void delay(50).then(() => res.status(503).end("too late"));
        next();
      },
      limitedBy({ limiter, wait: "10m" }),
      () => {
        handled += 1;
      },
    );
    expect((await sendRequest()).status).toBe(503);
    await eventually(async () => {
      const { code } = await limiter.wait("127.0.0.1", { timeout: 1 }).catch(Object);
      expect(code).toBe("HEADGATE_WAIT_TIMEOUT");
    });
    expect(handled).toBe(0);
    await end();
  });

  test("close responds to waiting requests, even if the limiter was passed in", async () => {
    const line = watchQueue();
    const limiter = createLimiter({ limits: hourly });
    await limiter.consume("127.0.0.1");
    const limit = rateLimit({ limiter, wait: "10m" });
    const { sendRequest, end } = await serve(limit as RequestHandler);
    const answer = sendRequest();
    await line.joined(1);
    await limit.close();
    expect((await answer).status).toBe(429);
    expect((await sendRequest()).status).toBe(429);
    await end();
  });
});
