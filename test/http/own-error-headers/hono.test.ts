import type { OnDenied, RateLimitOptions } from "@headgate/hono";
import { memoryStore, rateLimit } from "@headgate/hono";
import type { ErrorHandler } from "hono";
import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { TestResponse } from "../support/send-request.ts";
import { serveHono } from "../support/serve-hono.ts";
import { bug, combine, expectKept, HEADERS, limits, thrown } from "./denials.ts";

const tooFast = () => new HTTPException(429, { message: "too fast" });
const withResponse = () =>
  new HTTPException(429, { res: new Response("too fast", { headers: { "x-own": "own" } }) });

const ends: Readonly<Record<string, OnDenied | "error">> = {
  '"error"': "error",
  "an own error": thrown(tooFast),
  "an own error, rejected": async () => Promise.reject(tooFast()),
  "an own error with a response": thrown(withResponse),
  "a bug": thrown(bug),
};

const statusOf = (error: Error): 429 => ("status" in error ? error.status : 500) as 429;

type Handler = ErrorHandler | undefined;

const handlers: Readonly<Record<string, Handler>> = {
  "Hono itself": undefined,
  json: (error, c) => c.json({}, statusOf(error)),
  "a promise": async (error, c) => c.text("slower", statusOf(error)),
  "the error's own response": (error, c) =>
    "getResponse" in error ? (error as HTTPException).getResponse() : c.text("sorry", 500),
  "a Response": (error) => new Response("slower", { status: statusOf(error) }),
};

/** Where the limiter stands, and the path that meets it. */
const places = {
  "before a route": (app, limit) => app.use(limit).get("/", (c) => c.text("hello")),
  "in front of a handler": (app, limit) => app.get("/", limit, (c) => c.text("hello")),
  "where nothing else is": (app, limit) => app.use(limit),
} as const satisfies Record<string, (app: Hono, limit: ReturnType<typeof rateLimit>) => unknown>;

type Place = keyof typeof places | "in an application inside another";

const PLACES: readonly Place[] = [
  ...(Object.keys(places) as (keyof typeof places)[]),
  "in an application inside another",
];

async function denialWith(
  options: Partial<RateLimitOptions>,
  handler: Handler,
  place: Place = "before a route",
): Promise<TestResponse> {
  // Hono prints what it answers itself.
  vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => void vi.restoreAllMocks());
  const inner = new Hono();
  if (handler !== undefined) inner.onError(handler);
  const isInside = place === "in an application inside another";
  places[isInside ? "before a route" : place](inner, rateLimit({ limits, ...options }));
  const app = isInside ? new Hono().route("/", inner) : inner;
  const sendRequest = await serveHono(app);
  await sendRequest();
  return sendRequest();
}

describe.each(PLACES)("Hono, %s", (place) => {
  const { "a Response": _, ...ofContext } = handlers;
  // Hono sends a `Response` from `onError` as it is where it runs no other handler.
  const all = place === "where nothing else is" ? ofContext : handlers;

  test.each(combine(ends, all))(
    "$end, answered by $by: the headers of the denial stay",
    async ({ end, onDenied, handler }) => {
      const denied = await denialWith({ onDenied }, handler, place);
      expectKept(denied, end);
      if (end.endsWith("with a response") && handler === undefined) {
        expect(denied.headers["x-own"]).toBe("own");
      }
    },
  );
});

test.each(PLACES)(
  "Hono, %s: a Response returned by onDenied has the headers of the denial",
  async (place) => {
    const onDenied = () => new Response("slower", { status: 429, headers: { "x-own": "own" } });
    const denied = await denialWith({ onDenied }, undefined, place);
    expectKept(denied, "a response");
    expect([denied.text, denied.headers["x-own"]]).toEqual(["slower", "own"]);
  },
);

test("Hono: a response that onDenied creates by the context has the status of the denial", async () => {
  expectKept(await denialWith({ onDenied: (c) => c.json({}) }, undefined), "an answer");
});

test("Hono without other middleware: headers that a Response already has stay", async () => {
  const onDenied = () => new Response("slower", { status: 429, headers: { "retry-after": "7" } });
  const { headers } = await denialWith({ onDenied }, undefined, "where nothing else is");
  expect(headers["retry-after"]).toBe("7");
});

test("Hono: an error that is thrown twice has the headers of the second denial", async () => {
  let now = Date.UTC(2030, 0, 1);
  const store = memoryStore({ clock: () => now });
  const error = tooFast();
  const app = new Hono();
  app.use(rateLimit({ name: "api", store, limits, onDenied: thrown(() => error) }));
  const sendRequest = await serveHono(app);
  const waits: (string | undefined)[] = [];
  for (let i = 0; i < 3; i += 1) {
    waits.push((await sendRequest()).headers["retry-after"]);
    now += 60_000;
  }
  expect(waits).toEqual([undefined, "3540", "3480"]);
});

test.each(Object.entries(ends))(
  "Hono: %s: headers that the handler removes are gone",
  async (_, onDenied) => {
    for (const [by, handler] of Object.entries(handlers)) {
      if (handler === undefined) continue;
      const { headers } = await denialWith({ onDenied }, (error, c) => {
        c.header("Retry-After", undefined);
        return handler(error, c);
      });
      const { "retry-after": _removed, ...others } = HEADERS;
      expect(headers, by).toMatchObject(others);
      expect(headers, by).not.toHaveProperty("retry-after");
    }
  },
);

test.each(Object.entries(ends))(
  "Hono: %s: headers that the handler sets are sent once",
  async (_, onDenied) => {
    const { headers } = await denialWith({ onDenied }, (_error, c) => {
      c.header("Retry-After", "7");
      return c.json({}, 429);
    });
    expect(headers["retry-after"]).toBe("7");
  },
);

test.each(combine(ends, handlers))(
  "Hono: no Retry-After if it is turned off: $end, answered by $by",
  async ({ onDenied, handler }) => {
    const { headers } = await denialWith({ onDenied, headers: { retryAfter: false } }, handler);
    expect(headers).not.toHaveProperty("retry-after");
    expect(headers["x-ratelimit-limit"]).toBe("1");
  },
);
