import { join } from "node:path";
import { gcra } from "@headgate/core";
import type { Context, Middleware } from "koa";
import Koa from "koa";
import { expect, test } from "vitest";
import { serve } from "../../test/support/serve.ts";

const { rateLimit } = await import(join(import.meta.dirname, "rate-limit.mjs"));

const limits = gcra({ limit: 1, window: "1h" });

const HEADERS = {
  "retry-after": expect.stringMatching(/^(3600|3599)$/),
  "cache-control": "no-store",
  "x-ratelimit-limit": "1",
  "x-ratelimit-remaining": "0",
  ratelimit: expect.stringMatching(/^"1-per-1h";r=0;t=\d+$/),
  "ratelimit-policy": '"1-per-1h";q=1;w=3600',
};

/** The answer to a denied request, which the middleware around the limiter may change. */
async function denialWith(onDenied: unknown, around: Middleware = (_, next) => next()) {
  const app = new Koa().on("error", () => {});
  app.use(around);
  app.use(rateLimit({ limits, onDenied }));
  app.use((ctx) => {
    ctx.body = "hello";
  });
  const handle = app.callback();
  const url = await serve((request, response) => void handle(request, response));
  expect((await fetch(url)).status).toBe(200);
  return fetch(url);
}

const ends: Readonly<Record<string, { onDenied: unknown; status: number; body: string }>> = {
  '"error"': { onDenied: "error", status: 429, body: "Too Many Requests" },
  "ctx.throw": {
    onDenied: (ctx: Context) => ctx.throw(429, "slower"),
    status: 429,
    body: "slower",
  },
  "a bug": {
    onDenied: async () => {
      throw new Error("a bug");
    },
    status: 500,
    body: "Internal Server Error",
  },
  "an answer": {
    onDenied: (ctx: Context) => {
      ctx.body = { slower: true };
    },
    status: 429,
    body: '{"slower":true}',
  },
};

test.each(Object.entries(ends))("%s keeps the headers", async (_, { onDenied, status, body }) => {
  const denied = await denialWith(onDenied);
  expect(denied.status).toBe(status);
  expect(await denied.text()).toBe(body);
  expect(Object.fromEntries(denied.headers)).toMatchObject(HEADERS);
});

test("an error that the application handles keeps the headers, except those it removes", async () => {
  const denied = await denialWith("error", async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      ctx.status = (error as { status: number }).status;
      ctx.remove("Cache-Control");
      ctx.body = { error: (error as { code: string }).code };
    }
  });
  expect(denied.status).toBe(429);
  expect(await denied.json()).toEqual({ error: "HEADGATE_DENIED" });
  const { "cache-control": _, ...others } = HEADERS;
  expect(Object.fromEntries(denied.headers)).toMatchObject(others);
  expect(denied.headers.has("cache-control")).toBe(false);
});

test("an onDenied that does nothing leaves the response to Headgate", async () => {
  const denied = await denialWith(() => {});
  expect(denied.status).toBe(429);
  expect(denied.headers.get("content-type")).toBe("application/problem+json");
  expect(Object.fromEntries(denied.headers)).toMatchObject(HEADERS);
});
