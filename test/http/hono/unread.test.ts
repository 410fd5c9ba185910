import type { Limiter } from "@headgate/core";
import { concurrency, createLimiter, memoryStore } from "@headgate/core";
import type { RateLimitOptions } from "@headgate/hono";
import { fixedWindow, perRequest, rateLimit } from "@headgate/hono";
import type { MiddlewareHandler } from "hono";
import { Hono } from "hono";
import { timeout } from "hono/timeout";
import { describe, expect, test } from "vitest";
import { liveMebibytes } from "../../hostile/memory-use.ts";
import { deferred } from "../support/deferred.ts";
import { eventually } from "../support/eventually.ts";
import { manualClock } from "../support/manual-clock.ts";

/* Responses of the Fetch API whose body is not read to the end. */

const SLOTS = 4;
const key = () => "everybody";
const HEAD = { method: "HEAD" };

/** Slots that expire only after a test's end, unless they are released. */
function slotLimiter(): Limiter {
  return createLimiter({
    name: "slots",
    limits: concurrency({ limit: SLOTS, ttl: "10m" }),
    store: memoryStore({ clock: manualClock().now }),
  });
}

function guesses(): Limiter {
  return createLimiter({
    name: "guesses",
    limits: fixedWindow({ limit: SLOTS, window: "1h", block: "1d" }),
    blockOn: "settle",
    store: memoryStore({ clock: manualClock().now }),
  });
}

function limited(options: RateLimitOptions, outer?: MiddlewareHandler): Hono {
  const app = new Hono();
  if (outer !== undefined) app.use(outer);
  return app.use(rateLimit({ key, ...options }));
}

async function expectAllFree(limiter: Limiter): Promise<void> {
  await eventually(async () =>
    expect((await limiter.peek("everybody", { cost: 0 })).remaining).toBe(SLOTS),
  );
}

describe("slots are released", () => {
  test("after HEAD requests", async () => {
    const limiter = slotLimiter();
    const app = limited({ limiter }).get("/", (c) => c.text("hello"));
    for (let i = 0; i < SLOTS; i += 1) expect((await app.request("/", HEAD)).status).toBe(200);
    await expectAllFree(limiter);
  });

  test.each<[string, MiddlewareHandler]>([
    [
      "drops the response",
      async (c, next) => {
        await next();
        c.res = new Response(null, { status: 304 });
      },
    ],
    [
      "throws after the handler",
      async (_, next) => {
        await next();
        throw new Error("not saved");
      },
    ],
    ["answers first", timeout(1)],
  ])("after outer middleware %s", async (_, outer) => {
    const limiter = slotLimiter();
    const app = limited({ limiter }, outer);
    const answered = deferred();
    app.get("/", async (c) => {
      if (outer.name === "timeout") await answered.promise;
      return c.text("hello");
    });
    app.onError((_error, c) => c.text("failed", 500));
    for (let i = 0; i < SLOTS; i += 1) await (await app.request("/")).text();
    answered.resolve();
    await expectAllFree(limiter);
  });

  test("within their ttl after a body was dropped halfway", async () => {
    const limiter = createLimiter({ limits: concurrency({ limit: SLOTS, ttl: "300ms" }) });
    // A count keeps the context until the response ends.
    const app = limited({ limiter, count: "failed" }).get("/", () => {
      const source = { pull: (to: ReadableStreamDefaultController) => to.enqueue("chunk") };
      return new Response(new ReadableStream(source));
    });
    const readOneChunk = async () => (await app.request("/")).body?.getReader().read();
    for (let i = 0; i < SLOTS; i += 1) expect(await readOneChunk()).toMatchObject({ done: false });
    await eventually(async () => {
      liveMebibytes();
      expect((await limiter.peek("everybody", { cost: 0 })).remaining).toBe(SLOTS);
    });
  });
});

describe("count", () => {
  test("wrong guesses by HEAD set a block", async () => {
    const limiter = guesses();
    const app = limited({ limiter, count: "failed" }).get("/", (c) => c.text("wrong", 401));
    for (let i = 0; i < SLOTS; i += 1) await app.request("/", HEAD);
    await eventually(async () => expect((await limiter.peek("everybody")).blocked).toBe(true));
  });

  test("good requests by HEAD cost nothing", async () => {
    const limiter = guesses();
    const app = limited({ limiter, count: "failed" }).get("/", (c) => c.text("hello"));
    for (let i = 0; i < SLOTS; i += 1) expect((await app.request("/", HEAD)).status).toBe(200);
    await expectAllFree(limiter);
  });

  test("the status is that of the response with which outer middleware replaced the handler's", async () => {
    const limiter = guesses();
    const app = limited({ limiter, count: "failed" }, async (c, next) => {
      await next();
      if (c.res.status === 404) c.res = new Response("a page of its own");
    });
    for (let i = 0; i < SLOTS; i += 1)
      expect(await (await app.request("/nowhere")).text()).toBe("a page of its own");
    await expectAllFree(limiter);
  });
});

test("the limits of a request may count slots", async () => {
  const base = fixedWindow({ limit: 100, window: "1h" });
  const own = concurrency({ limit: 1, ttl: "10m" });
  const app = limited({ limits: perRequest(base, (c) => (c.req.query("slots") ? own : base)) });
  app.get("/", (c) => c.text("hello"));
  const first = await app.request("/?slots=1");
  expect([first.status, (await app.request("/?slots=1")).status]).toEqual([200, 429]);
  await first.text();
  await eventually(async () => {
    const { status } = await app.request("/?slots=1", HEAD);
    expect(status).toBe(200);
  });
  expect((await app.request("/")).status).toBe(200);
});

test("a request stops waiting for its turn once outer middleware has answered it", async () => {
  const limiter = createLimiter({ limits: fixedWindow({ limit: 1, window: "1h" }) });
  await limiter.consume("everybody");
  const limit = rateLimit({ limiter, key, wait: "10m" });
  const stopped = deferred();
  const app = new Hono().use(timeout(20), async (c, next) => {
    await limit(c, next);
    stopped.resolve();
  });
  app.get("/", (c) => c.text("hello"));
  const answer = await app.request("/");
  expect([answer.status, await answer.text()]).toEqual([504, "Gateway Timeout"]);
  await stopped.promise;
});
