import { setImmediate as turn } from "node:timers/promises";
import { concurrency, createLimiter } from "@headgate/core";
import { subjectOf } from "@headgate/core/http";
import type { RateLimitOptions } from "@headgate/hono";
import { byHeader, fixedWindow, gcra, rateLimit } from "@headgate/hono";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { deferred } from "../support/deferred.ts";
import { eventually } from "../support/eventually.ts";

const limits = gcra({ limit: 2, window: "1h" });
const getConnInfo = () => ({ remote: { address: "203.0.113.7" } });

function limited(options: RateLimitOptions): Hono {
  const app = new Hono().use(rateLimit({ limits, getConnInfo, ...options }));
  app.get("/", (c) => c.json({ left: c.var.rateLimit?.remaining }));
  return app;
}

async function readWhole(answer: Response): Promise<Response> {
  await answer.text();
  return answer;
}

async function statusesOf(app: Hono, ...asked: readonly RequestInit[]): Promise<number[]> {
  const statuses: number[] = [];
  for (const init of asked) statuses.push((await app.request("/", init)).status);
  return statuses;
}

test("a custom key needs no connection", async () => {
  const app = limited({ key: byHeader("x-api-key"), getConnInfo: undefined });
  const keys = ["ada", "ada", "ada", "bob"].map((key) => ({ headers: { "x-api-key": key } }));
  expect(await statusesOf(app, ...keys)).toEqual([200, 200, 429, 200]);
});

test("getConnInfo provides the address", async () => {
  const addresses = ["203.0.113.7", "203.0.113.7", "203.0.113.7", "203.0.113.8"];
  const app = limited({
    getConnInfo: () => ({ remote: { address: addresses.shift() as string } }),
  });
  expect(await statusesOf(app, {}, {}, {}, {})).toEqual([200, 200, 429, 200]);
});

test("a request without an address is an error that names the fix", async () => {
  const app = limited({ getConnInfo: undefined });
  const errors: Error[] = [];
  app.onError((error, c) => {
    errors.push(error);
    return c.text("failed", 500);
  });
  expect((await app.request("/")).status).toBe(500);
  expect(errors).toMatchObject([{ code: "HEADGATE_NO_ADDRESS" }]);
});

test("rateLimit rejects a getConnInfo that is no function, and missing options", () => {
  for (const wrong of [{ limits, getConnInfo: "203.0.113.7" }, undefined]) {
    expect(() => rateLimit(wrong as never)).toThrow(
      expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }),
    );
  }
});

test("decisionOf finds a decision by the context, even after middleware replaced the body", async () => {
  const limit = rateLimit({ limits, getConnInfo });
  const app = new Hono().use(limit);
  app.post("/", async (c) => {
    c.req.raw = new Request(c.req.raw, { body: "other" });
    return c.json([
      limit.decisionOf(c)?.decision.remaining,
      subjectOf(c),
      c.var.rateLimit?.remaining,
    ]);
  });
  const answer = await app.request("/", { method: "POST", body: "one" });
  expect(await answer.json()).toEqual([1, { default: "203.0.113.7" }, 1]);
});

test("a slot is held until the body has been read, and count gets the status", async () => {
  const limiter = createLimiter({ limits: concurrency({ limit: 1, ttl: "30s" }) });
  const counted = createLimiter({ limits: fixedWindow({ limit: 9, window: "1h" }) });
  const seen: number[] = [];
  const app = new Hono().use(
    rateLimit({ limiter, getConnInfo }),
    rateLimit({
      limiter: counted,
      getConnInfo,
      count: (_, { statusCode }) => {
        seen.push(statusCode);
        return statusCode !== 404;
      },
    }),
  );
  const done = deferred();
  app.get("/", (c) =>
    c.body(
      new ReadableStream({
        async start(controller) {
          await done.promise;
          controller.close();
        },
      }),
    ),
  );
  const first = await app.request("/");
  expect((await app.request("/")).status).toBe(429);
  done.resolve();
  await first.text();
  await eventually(async () => {
    const { status } = await readWhole(await app.request("/nowhere"));
    expect(status).toBe(404);
  });
  await eventually(() => expect(seen.slice(0, 2)).toEqual([200, 404]));
  await eventually(async () =>
    expect((await counted.peek("203.0.113.7", { cost: 0 })).limits[0]?.remaining).toBe(8),
  );
});

test("a slot is no longer renewed after the body is cancelled or fails", async () => {
  const limiter = createLimiter({ limits: concurrency({ limit: 1, ttl: "500ms" }) });
  const app = new Hono().use(rateLimit({ limiter, getConnInfo }));
  const cancelled: unknown[] = [];
  app.get("/open", (c) =>
    c.body(
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode("begun")),
        cancel: (why) => void cancelled.push(why),
      }),
    ),
  );
  app.get("/broken", (c) =>
    c.body(
      new ReadableStream({
        pull() {
          throw new Error("broken");
        },
      }),
    ),
  );
  const first = await app.request("/open");
  // Nothing is being read when it is cancelled.
  await turn();
  await first.body?.cancel("enough");
  expect(cancelled).toEqual(["enough"]);
  await eventually(async () => {
    const broken = await app.request("/broken");
    expect(broken.status).toBe(200);
    await expect(broken.text()).rejects.toThrow("broken");
  });
  await eventually(async () => expect((await app.request("/open")).status).toBe(200));
});

test("a request whose signal aborts stops waiting, and is not charged", async () => {
  const limiter = createLimiter({ limits: fixedWindow({ limit: 1, window: "1h" }) });
  let handled = 0;
  const app = new Hono().use(rateLimit({ limiter, getConnInfo, wait: "10m" }));
  app.get("/", (c) => {
    handled += 1;
    return c.text("");
  });
  await app.request("/");
  const leaving = new AbortController();
  const waiting = app.request("/", { signal: leaving.signal });
  leaving.abort();
  await waiting;
  expect(handled).toBe(1);
});

test("a HeadgateDeniedError that the application does not handle gets the usual response", async () => {
  const app = limited({ onDenied: "error", limits: gcra({ limit: 1, window: "1h" }) });
  await app.request("/");
  const denied = await app.request("/");
  expect([denied.status, denied.headers.get("content-type")]).toEqual([
    429,
    "application/problem+json",
  ]);
  expect(denied.headers.has("retry-after")).toBe(true);
});

test("a request that outer middleware has answered meanwhile does not reach the handler", async () => {
  const found = deferred<string>();
  const handled: string[] = [];
  const app = new Hono();
  app.use(async (c, next) => {
    const continued = next();
    c.res = c.text("timed out", 503);
    found.resolve("ann");
    await continued;
  });
  app.use(rateLimit({ limits, key: () => found.promise }));
  app.get("/", (c) => {
    handled.push(c.req.path);
    return c.text("late");
  });
  const response = await app.request("/");
  expect([response.status, await response.text()]).toEqual([503, "timed out"]);
  expect(handled).toEqual([]);
});
