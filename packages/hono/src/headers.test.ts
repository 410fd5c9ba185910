import type { Limit } from "@headgate/core";
import { fixedWindow, gcra, memoryStore } from "@headgate/core";
import type { Context, Handler } from "hono";
import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { expect, test } from "vitest";
import { completeHeaders, prepareHeaders } from "./on-denied.ts";
import { rateLimit } from "./rate-limit.ts";

const ONE_OF_FIVE = { "ratelimit-policy": '"5-per-1h";q=5;w=3600', "x-ratelimit-remaining": "4" };

function limit(limits: Limit = fixedWindow({ limit: 5, window: "1h" }), name = "api") {
  return rateLimit({ name, limits, store: memoryStore(), key: () => "ann" });
}

/** The response of an application to its first request. */
async function respond(handler: Handler, app = new Hono().use(limit())): Promise<Response> {
  app.onError((error, c) => {
    if (error instanceof HTTPException) return error.getResponse();
    return c.text("failed", 500);
  });
  return app.get("/", handler).request("/");
}

function headersOf({ headers }: Response, names: object = ONE_OF_FIVE) {
  return Object.fromEntries(Object.keys(names).map((name) => [name, headers.get(name)]));
}

function unchangeable(): Response {
  const response = Response.redirect("http://elsewhere.example/", 302);
  expect(() => response.headers.set("a", "b")).toThrow(TypeError);
  return response;
}

test.each<[string, number, Handler]>([
  ["a response of the context", 200, (c) => c.json({})],
  ["a response created without it", 203, () => new Response("raw", { status: 203 })],
  ["a response whose headers cannot be changed", 302, unchangeable],
  ["a page that was not found", 404, (c) => c.notFound()],
  ["an error that the application answers", 500, () => Promise.reject(new Error("broken"))],
  [
    "the response of an error",
    401,
    () => Promise.reject(new HTTPException(401, { res: new Response("who?", { status: 401 }) })),
  ],
  [
    "a response that the handler sets",
    418,
    async (c: Context) => {
      c.res = new Response(null, { status: 418 });
      return c.res;
    },
  ],
])("the headers are on %s", async (_, status, handler) => {
  const response = await respond(handler);
  expect([response.status, headersOf(response)]).toEqual([status, ONE_OF_FIVE]);
});

test("the headers are on the response to a path without a route", async () => {
  const response = await new Hono().use(limit()).request("/nowhere");
  expect([response.status, headersOf(response)]).toEqual([404, ONE_OF_FIVE]);
});

test("a response created without the context keeps its body, its status and its own headers", async () => {
  const response = await respond(
    () => new Response("raw", { status: 201, headers: { "x-own": "1", "content-type": "a/b" } }),
  );
  expect([response.status, await response.text()]).toEqual([201, "raw"]);
  expect(headersOf(response, { "x-own": 0, "content-type": 0 })).toEqual({
    "x-own": "1",
    "content-type": "a/b",
  });
});

test("headers of the same names on the response of an upstream give way to the limiter's", async () => {
  const headers = { "ratelimit-policy": '"theirs";q=9;w=1', "x-ratelimit-remaining": "9" };
  expect(headersOf(await respond(() => new Response("", { headers })))).toEqual(ONE_OF_FIVE);
});

test("a header that the handler changes stays as it is", async () => {
  const response = await respond((c) => {
    c.header("x-ratelimit-remaining", "many");
    return c.text("");
  });
  expect(headersOf(response)).toEqual({ ...ONE_OF_FIVE, "x-ratelimit-remaining": "many" });
});

test.each<[string, Handler]>([
  ["created by the context", (c) => c.text("")],
  ["created without it", () => new Response("")],
])("two limiters set each header once on a response %s", async (_, handler) => {
  const inner = limit(gcra({ limit: 2, window: "1h" }), "inner");
  const response = await respond(handler, new Hono().use(limit(), inner));
  expect(headersOf(response)).toEqual({
    "ratelimit-policy": '"5-per-1h";q=5;w=3600, "2-per-1h";q=2;w=3600',
    "x-ratelimit-remaining": "1",
  });
});

test("a denied request gets the headers and Retry-After once", async () => {
  const app = new Hono().use(limit(fixedWindow({ limit: 0, window: "1h" })));
  const response = await respond((c) => c.text("never"), app);
  expect(response.status).toBe(429);
  expect(headersOf(response, { "retry-after": 0, "x-ratelimit-remaining": 0 })).toMatchObject({
    "x-ratelimit-remaining": "0",
  });
  expect(response.headers.get("content-type")).toMatch(/^application\/problem\+json/);
});

test("a response that a gateway passes on from another limiter of the same policy gets the headers of this one", async () => {
  const upstream = { ...ONE_OF_FIVE, "x-ratelimit-limit": "5", "x-ratelimit-remaining": "1" };
  const response = await respond(() => new Response("theirs", { headers: upstream }));
  expect(headersOf(response)).toEqual(ONE_OF_FIVE);
});

test("a header that is to be appended stays beside the application's own", async () => {
  const app = new Hono();
  app.use(async (c: Context, next) => {
    prepareHeaders(c, [["Server-Timing", "headgate;dur=3.0", "append"]]);
    await next();
    completeHeaders(c);
  });
  const headers = { "server-timing": "db;dur=5" };
  const response = await respond(() => new Response("raw", { headers }), app);
  expect(response.headers.get("server-timing")).toBe("db;dur=5, headgate;dur=3.0");
});
