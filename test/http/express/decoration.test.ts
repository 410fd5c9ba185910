import { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { gcra } from "@headgate/core";
import { rateLimit } from "@headgate/express";
import type { ErrorRequestHandler, Request, RequestHandler } from "express";
import express from "express";
import express4 from "express4";
import { expect, onTestFinished, test } from "vitest";
import { listen } from "../support/listen.ts";
import { createHttpClient } from "../support/send-request.ts";
import { describeExpress } from "./describe-express.ts";

const limits = gcra({ limit: 9, window: "1h" });

/** What a request shows, and whether the property is the request's own. */
const answer: RequestHandler = (req, res) => {
  res.json({ left: req.rateLimit?.remaining ?? null, isOwn: Object.hasOwn(req, "rateLimit") });
};

describeExpress(({ make, serve }) => {
  test("req.rateLimit shows the decision without an own property", async () => {
    const { sendRequest } = await serve((app) => app.use(rateLimit({ limits }), answer));
    expect((await sendRequest()).json()).toEqual({ left: 8, isOwn: false });
    expect((await sendRequest()).json()).toEqual({ left: 7, isOwn: false });
  });

  test("the decision of a mounted application is visible after it and in error handlers", async () => {
    const onError: ErrorRequestHandler = (error: Error, req, res, _next) => {
      res.json({ left: req.rateLimit?.remaining, message: error.message });
    };
    const { sendRequest } = await serve((app) => {
      const mounted = make();
      mounted.use(rateLimit({ limits }));
      mounted.get("/fails", () => {
        throw new Error("on purpose");
      });
      app.use(mounted);
      app.get("/", answer);
      app.use(onError);
    });
    await sendRequest();
    expect((await sendRequest()).json()).toEqual({ left: 7, isOwn: false });
    expect((await sendRequest("/fails")).json()).toEqual({ left: 6, message: "on purpose" });
  });

  test("req.rateLimit is undefined for a request that was not counted", async () => {
    const { sendRequest } = await serve((app) => {
      app.use(rateLimit({ limits, skip: ({ path }) => path === "/free" }), answer);
    });
    await sendRequest();
    expect((await sendRequest("/free")).json()).toEqual({ left: null, isOwn: false });
  });

  test("a rateLimit property of the application's own requests is replaced", async () => {
    const { sendRequest } = await serve((app) => {
      Object.assign(app.request, { rateLimit: null });
      app.use(rateLimit({ limits }), answer);
    });
    expect((await sendRequest()).json()).toEqual({ left: 8, isOwn: true });
    expect((await sendRequest()).json()).toEqual({ left: 7, isOwn: true });
  });

  test("an application that served alone can be mounted in one of another copy of Express", async () => {
    const mounted = make();
    mounted.use(rateLimit({ limits }), answer);
    const alone = await serve((app) => app.use(mounted));
    expect((await alone.sendRequest()).json()).toMatchObject({ left: 8 });
    const outer = make === express ? express4() : express();
    outer.use(mounted);
    const { port } = (await listen(outer)).address() as AddressInfo;
    const { sendRequest, end } = createHttpClient({ port });
    onTestFinished(end);
    for (const left of [7, 6]) expect((await sendRequest()).json()).toMatchObject({ left });
  });

  test("copies of a request and objects that inherit from it are counted separately", async () => {
    const outer = rateLimit({ name: "outer", limits });
    const inner = rateLimit({ name: "inner", limits: gcra({ limit: 3, window: "1h" }) });
    let admitted = 0;
    const { sendRequest } = await serve((app) => {
      app.use(outer, (req, res) => {
        const { ip, socket, headers } = req;
        for (let i = 0; i < 5; i += 1) {
          const answers = { headersSent: false, setHeader() {}, end() {} };
          const copy = { ...req, ip, socket, headers } as typeof req;
          const heir: typeof req = Object.create(req);
          for (const one of [copy, heir]) inner(one, answers, () => (admitted += 1));
        }
        res.end();
      });
    });
    await sendRequest();
    expect(admitted).toBe(3);
  });

  test("a value that another library sets is visible until the next decision", async () => {
    const shown: unknown[] = [];
    const note: RequestHandler = (req, _res, next) => {
      shown.push(req.rateLimit?.remaining);
      next();
    };
    const setByOther: RequestHandler = (req, _res, next) => {
      Object.assign(req, { rateLimit: { remaining: "other" } });
      next();
    };
    const first = rateLimit({ name: "first", limits });
    const second = rateLimit({ name: "second", limits: gcra({ limit: 5, window: "1h" }) });
    const { sendRequest } = await serve((app) => {
      app.use(first, note, setByOther, note, second, note, answer);
    });
    await sendRequest();
    shown.length = 0;
    expect((await sendRequest()).json()).toEqual({ left: 3, isOwn: true });
    expect(shown).toEqual([7, "other", 3]);
  });

  test("an object that inherits from a request, or is a proxy of it, shows and counts as the request", async () => {
    const limit = rateLimit({ limits });
    const seen: unknown[] = [];
    const { sendRequest } = await serve((app) => {
      app.use(limit, (req, res) => {
        const others = [Object.create(req), new Proxy(req, {})];
        for (const other of others) {
          limit(other, res, () =>
            seen.push(other.rateLimit.remaining, limit.decisionOf(other)?.subject),
          );
        }
        res.end();
      });
    });
    await sendRequest();
    seen.length = 0;
    await sendRequest();
    const subject = { default: "127.0.0.1" };
    expect(seen).toEqual([7, subject, 7, subject]);
  });
});

/** A prototype of requests as Express has it, but frozen, as hardened programs freeze what their modules share. */
const frozen = Object.freeze(
  Object.create(IncomingMessage.prototype, { subdomains: { value: [] } }),
);

test.each([
  ["Node alone", IncomingMessage.prototype],
  ["a frozen Express", frozen],
])("a request of %s gets an own property rateLimit", async (_, prototype) => {
  const limit = rateLimit({ limits, key: () => "ann" });
  const server = await listen((req, res) => {
    Object.setPrototypeOf(req, prototype);
    limit(req as unknown as Request, res, () => {
      const shown = Object.getOwnPropertyDescriptor(req, "rateLimit");
      res.end(JSON.stringify({ left: shown?.value.remaining }));
    });
  });
  const { sendRequest, end } = createHttpClient(server.address() as AddressInfo);
  onTestFinished(end);
  await sendRequest();
  expect((await sendRequest()).json()).toEqual({ left: 7 });
});
