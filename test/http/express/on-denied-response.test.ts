import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { OnDenied } from "@headgate/express";
import { byTier, gcra, rateLimit } from "@headgate/express";
import { expect, test } from "vitest";
import { watchUnhandled } from "../support/unhandled.ts";
import { describeExpress } from "./describe-express.ts";

const limits = gcra({ limit: 1, window: "1h" });

const answers: Record<string, OnDenied> = {
  "send()": (_req, res) => res.status(503).send("mine"),
  "end()": (_req, res) => {
    res.statusCode = 503;
    res.end("mine");
  },
  "end() after a while": async (_req, res) => {
    await new Promise(setImmediate);
    res.status(503).end("mine");
  },
  "write() now and end() later": (_req, res) => {
    res.status(503).write("mi");
    setImmediate(() => res.end("ne"));
  },
  "a stream that is awaited": (_req, res) => pipeline(Readable.from(["mi", "ne"]), res.status(503)),
};

describeExpress(({ serve }) => {
  test.each(Object.entries(answers))(
    "onDenied that answers with %s: nothing is sent after it",
    async (_, onDenied) => {
      const settled = watchUnhandled();
      const { ask } = await serve((app) => {
        app.use(rateLimit({ limits, onDenied }), (_req, res) => res.end("ok"));
      });
      await ask();
      const denied = await ask();
      expect(denied).toMatchObject({ status: 503, text: "mine" });
      expect(denied.headers).toHaveProperty("retry-after");
      await settled();
    },
  );

  test("onDenied that redirects has answered", async () => {
    const { ask } = await serve((app) => {
      const onDenied: OnDenied = (_req, res) => res.redirect(303, "/slow-down");
      app.use(rateLimit({ limits, onDenied }), (_req, res) => res.end("ok"));
    });
    await ask();
    const denied = await ask();
    expect([denied.status, denied.headers["location"]]).toEqual([303, "/slow-down"]);
  });

  test("onDenied that throws after it answered does no harm", async () => {
    const settled = watchUnhandled();
    const { ask } = await serve((app) => {
      const onDenied: OnDenied = (_req, res) => {
        res.send("mine");
        throw new Error("too late");
      };
      app.use(rateLimit({ limits, onDenied }), (_req, res) => res.end("ok"));
    });
    await ask();
    await ask().catch(() => {});
    await settled();
    expect((await ask().catch(() => ({ status: 429 }))).status).toBe(429);
  });

  test("middleware whose limits depend on the tier has the limiter of each", async () => {
    const limited = rateLimit({ limits: byTier({ free: limits }, () => "free") });
    expect([...limited.tiers.keys()]).toEqual(["free"]);
    expect(limited).not.toHaveProperty("limiter");
    const { ask } = await serve((app) => app.use(limited, (_req, res) => res.end("ok")));
    await ask();
    expect((await ask()).status).toBe(429);
    await limited.tiers.get("free")?.reset("127.0.0.1");
    expect((await ask()).status).toBe(200);
    await limited.close();
    expect((await ask()).status).toBe(500);
  });
});
