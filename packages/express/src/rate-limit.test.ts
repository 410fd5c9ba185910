import { EventEmitter } from "node:events";
import type { HeadgateError } from "@headgate/core";
import { createLimiter, fixedWindow, memoryStore } from "@headgate/core";
import { byTier } from "@headgate/core/http";
import { describe, expect, test, vi } from "vitest";
import type { RateLimitOptions } from "./rate-limit.ts";
import { rateLimit } from "./rate-limit.ts";

const limits = fixedWindow({ limit: 1, window: "1m" });

function errorOf(options: unknown): HeadgateError {
  try {
    rateLimit(options as RateLimitOptions);
  } catch (error) {
    return error as HeadgateError;
  }
  throw new Error("nothing was thrown");
}

/** A request and a response of Express, as far as the middleware touches them. */
function exchange(ip: string | undefined, destroyed = false) {
  const socket = { remoteAddress: "10.0.0.1", destroyed };
  const sent: Record<string, string> = {};
  const request: { ip: string | undefined; headers: typeof sent; socket: typeof socket } = {
    ip,
    headers: sent,
    socket,
  };
  const headers = new Map<string, string>();
  const response = Object.assign(new EventEmitter(), {
    statusCode: 200,
    headersSent: false,
    writableEnded: false,
    headers,
    body: undefined as string | undefined,
    getHeaders: () => Object.fromEntries(headers),
    getHeader: (name: string) => headers.get(name),
    // As Node's, which throws.
    setHeader(name: string, value: string) {
      if (response.headersSent) throw new Error("ERR_HTTP_HEADERS_SENT");
      return headers.set(name, value);
    },
    removeHeader: (name: string) => headers.delete(name),
    end(body?: string) {
      response.body = body;
      response.headersSent = true;
      response.writableEnded = true;
    },
  });
  return { request, response };
}

type Exchange = ReturnType<typeof exchange>;

/** What became of a request once everything has settled: the arguments of each call of `next`. */
async function run(middleware: ReturnType<typeof rateLimit>, { request, response }: Exchange) {
  const next = vi.fn();
  middleware(request, response, next);
  await new Promise((resolve) => setImmediate(resolve));
  return next.mock.calls;
}

test("an error that next throws synchronously goes to the caller, and no response is sent", async () => {
  const middleware = rateLimit({ limits });
  const { request, response } = exchange("192.0.2.1");
  const wrong = new Error("wrong");
  const next = vi.fn(() => {
    throw wrong;
  });
  expect(() => middleware(request, response, next)).toThrow(wrong);
  await new Promise((resolve) => setImmediate(resolve));
  expect(next.mock.calls).toEqual([[]]);
  expect(response).toMatchObject({ statusCode: 200, writableEnded: false });
  expect(middleware.decisionOf(request)?.decision.allowed).toBe(true);
  await middleware.close();
});

describe("rateLimit of Express", () => {
  test.each([
    [undefined],
    [null],
    [{}],
    [100],
    [{ max: 5, windowMs: 60_000 }],
    [{ limits, hook: "onRequest" }],
    [{ limits, extend: true }],
    [{ limits, cost: -1 }],
    [{ limits, headers: "draft-7" }],
    [{ limits, store: {} }],
    [{ limits, store: memoryStore() }],
    [{ limits, name: "" }],
    [{ limiter: {} }],
    [{ limits: { ...limits, per: "tenant" } }],
  ])("rateLimit rejects %j at construction", (options) => {
    expect(errorOf(options).code).toBe("HEADGATE_INVALID_OPTION");
  });

  test("rateLimit has a limiter, or one for each tier, and close closes them", async () => {
    const { limiter, close } = rateLimit({ name: "api", limits });
    expect(limiter.name).toBe("api");
    await close();
    await expect(limiter.consume("x")).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
    const tiered = rateLimit({ limits: byTier({ free: limits }, () => "free") });
    expect([...tiered.tiers.keys()]).toEqual(["free"]);
    expect("limiter" in tiered).toBe(false);
    const given = createLimiter({ limits });
    const around = rateLimit({ limiter: given });
    expect(around.limiter).toBe(given);
    await around.close();
    expect((await given.consume("x")).allowed).toBe(true);
  });

  test("rateLimit leaves no name in use if it throws", () => {
    const store = memoryStore();
    const wrong = [
      { limits: { ...limits, per: "tenant" } },
      { limits, headers: { reset: "never" } },
    ];
    for (const options of wrong) errorOf({ name: "api", store, ...options });
    const right = fixedWindow({ limit: 5, window: "1h" });
    expect(rateLimit({ name: "api", store, limits: right }).limiter.name).toBe("api");
  });
});

describe("the middleware of Express", () => {
  test("an allowed request calls next once, without an argument", async () => {
    const one = exchange("1.2.3.4");
    expect(await run(rateLimit({ limits }), one)).toEqual([[]]);
    expect(one.request).toMatchObject({ rateLimit: { allowed: true, remaining: 0 } });
    expect(one.response.headers.get("X-RateLimit-Remaining")).toBe("0");
    expect(one.response.statusCode).toBe(200);
  });

  test("a denied request gets a response, and next is not called", async () => {
    const middleware = rateLimit({ limits });
    await run(middleware, exchange("1.2.3.4"));
    const one = exchange("1.2.3.4");
    expect(await run(middleware, one)).toEqual([]);
    expect(one.response.statusCode).toBe(429);
    expect(one.response.headers.get("Content-Type")).toBe("application/problem+json");
    expect(Number(one.response.headers.get("Retry-After"))).toBeGreaterThan(0);
    expect(JSON.parse(one.response.body ?? "").status).toBe(429);
    expect(one.request).toMatchObject({ rateLimit: { allowed: false } });
  });

  test("an error is passed to next once, and no header is set", async () => {
    const wrong = new Error("wrong");
    const one = exchange("1.2.3.4");
    const middleware = rateLimit({ limits, key: () => Promise.reject(wrong) });
    expect(await run(middleware, one)).toEqual([[wrong]]);
    expect(one.response.headers.size).toBe(0);
  });

  test.each([[undefined], [null], [""], ["route"], ["router"], [0], [false]])(
    "a function of the options that fails with %j passes an Error to next",
    async (reason) => {
      const fails = [
        () => {
          throw reason;
        },
        () => Promise.reject(reason),
      ];
      for (const option of ["key", "skip", "cost"]) {
        for (const fail of fails) {
          const one = exchange("1.2.3.4");
          const calls = await run(rateLimit({ limits, [option]: fail }), one);
          expect(calls).toMatchObject([[{ code: "HEADGATE_NOT_AN_ERROR", cause: reason }]]);
          expect(calls[0]?.[0]).toBeInstanceOf(Error);
          expect(one.response.headers.size).toBe(0);
        }
      }
    },
  );

  test("a denial with headers: false removes the headers of a visible limiter", async () => {
    const wide = rateLimit({ limits: fixedWindow({ limit: 9, window: "1m", name: "wide" }) });
    const hidden = rateLimit({ limits, headers: false });
    await run(hidden, exchange("1.2.3.4"));
    const one = exchange("1.2.3.4");
    expect(await run(wide, one)).toEqual([[]]);
    expect(one.response.headers.get("X-RateLimit-Limit")).toBe("9");
    expect(await run(hidden, one)).toEqual([]);
    expect([...one.response.headers.keys()].toSorted()).toEqual([
      "Cache-Control",
      "Content-Type",
      "RateLimit",
      "RateLimit-Policy",
      "Retry-After",
    ]);
    expect(one.response.headers.get("RateLimit-Policy")).toBe('"wide";q=9;w=60');
  });

  test("calling the middleware without next throws at once", () => {
    const { request, response } = exchange("1.2.3.4");
    const middleware = rateLimit({ limits }) as unknown as (req: object, res: object) => void;
    expect(() => middleware(request, response)).toThrow(
      expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }),
    );
  });

  test("the address is read before anything is awaited", async () => {
    const one = exchange("1.2.3.4");
    const middleware = rateLimit({
      limits,
      skip: async () => {
        one.request.ip = undefined;
        return false;
      },
    });
    expect(await run(middleware, one)).toEqual([[]]);
    expect((await middleware.limiter.consume("1.2.3.4")).allowed).toBe(false);
  });

  test("a disconnected client is dropped silently, and a connected client without an address is an error", async () => {
    expect(await run(rateLimit({ limits }), exchange(undefined, true))).toEqual([]);
    expect(await run(rateLimit({ limits }), exchange(undefined))).toMatchObject([
      [{ code: "HEADGATE_NO_ADDRESS" }],
    ]);
  });

  test("an untrusted proxy is reported, even by a router without an application", async () => {
    const emitWarning = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const one = exchange("10.0.0.1");
    one.request.headers["x-forwarded-for"] = "203.0.113.7";
    expect(await run(rateLimit({ limits }), one)).toEqual([[]]);
    expect(emitWarning.mock.calls).toEqual([
      [
        expect.stringContaining("10.0.0.1"),
        { type: "HeadgateWarning", code: "HEADGATE_PROXY_NOT_TRUSTED" },
      ],
    ]);
    emitWarning.mockRestore();
  });

  test("a request that waits ends if its response, such as that of express-ws, has no headers", async () => {
    const middleware = rateLimit({ limits, key: async () => "ann" });
    const answered = exchange("192.0.2.1");
    const calls = run(middleware, answered);
    answered.response.writableEnded = true;
    expect(await calls).toEqual([]);
    expect(answered.response.headers.size).toBe(0);
  });

  test("a denied request does not continue because something else has responded", async () => {
    const middleware = rateLimit({ limits });
    await run(middleware, exchange("1.2.3.4"));
    for (const writableEnded of [true, false]) {
      const answered = exchange("1.2.3.4");
      answered.response.headersSent = true;
      answered.response.writableEnded = writableEnded;
      expect(await run(middleware, answered)).toEqual([]);
      expect(answered.response.headers.size).toBe(0);
      // Nothing can be said any more, but nobody is left waiting.
      expect(answered.response.writableEnded).toBe(true);
    }
  });

  test("an allowed request continues after early headers, but not after the response has ended", async () => {
    const started = exchange("1.2.3.4");
    started.response.headersSent = true;
    expect(await run(rateLimit({ limits }), started)).toEqual([[]]);
    expect(started.response.headers.size).toBe(0);
    const ended = exchange("1.2.3.4");
    ended.response.headersSent = true;
    ended.response.writableEnded = true;
    expect(await run(rateLimit({ limits }), ended)).toEqual([]);
  });

  test("no request continues after the response has ended, even without headers or a decision", async () => {
    const silent = rateLimit({ limits, headers: { legacy: false, standard: false } });
    for (const middleware of [silent, rateLimit({ limits, skip: () => true })]) {
      const ended = exchange("1.2.3.4");
      ended.response.headersSent = true;
      ended.response.writableEnded = true;
      expect(await run(middleware, ended)).toEqual([]);
    }
  });

  test("an error of the response itself goes to the error handler", async () => {
    const broken = exchange("1.2.3.4");
    const wrong = new Error("wrong");
    broken.response.setHeader = () => {
      throw wrong;
    };
    expect(await run(rateLimit({ limits }), broken)).toEqual([[wrong]]);
  });
});

describe("onDenied of Express", () => {
  async function deny(onDenied: RateLimitOptions["onDenied"], one = exchange("1.2.3.4")) {
    const middleware = rateLimit({ limits, onDenied });
    await run(middleware, exchange("1.2.3.4"));
    return { calls: await run(middleware, one), ...one };
  }

  test("the response of onDenied is sent", async () => {
    const { calls, response } = await deny((_, res) => {
      res.end("mine");
    });
    expect([calls, response.body, response.statusCode]).toEqual([[], "mine", 429]);
  });

  test("Headgate responds if onDenied does not, now or later", async () => {
    for (const onDenied of [() => {}, async () => null, () => true]) {
      const { calls, response } = await deny(onDenied);
      expect(calls).toEqual([]);
      expect(response.headers.get("Content-Type")).toBe("application/problem+json");
      expect(response.body).toContain("quota-exceeded");
    }
  });

  test("onDenied finds status, headers and decision already set", async () => {
    const seen = vi.fn();
    await deny((req, res, decision) => {
      const { headers } = res as unknown as Exchange["response"];
      seen(
        res.statusCode,
        headers.has("Retry-After"),
        decision.allowed,
        req.rateLimit === decision,
      );
    });
    expect(seen.mock.calls).toEqual([[429, true, false, true]]);
  });

  test("an error thrown by onDenied goes to the error handler, with the headers of the denial", async () => {
    const wrong = new Error("wrong");
    const thrown = await deny(() => {
      throw wrong;
    });
    const rejected = await deny(() => Promise.reject(wrong));
    for (const { calls, response } of [thrown, rejected]) {
      expect(calls).toEqual([[wrong]]);
      expect(response.statusCode).toBe(200);
      expect(response.headers.has("Retry-After")).toBe(true);
      expect(response.body).toBeUndefined();
    }
  });

  test.each([[undefined], [null], [""], ["route"]])(
    "a denied request does not continue if onDenied fails with %j",
    async (reason) => {
      const thrown = await deny(() => {
        throw reason;
      });
      const rejected = await deny(() => Promise.reject(reason));
      for (const { calls, response } of [thrown, rejected]) {
        expect(calls).toMatchObject([[{ code: "HEADGATE_NOT_AN_ERROR", cause: reason }]]);
        expect(calls[0]?.[0]).toBeInstanceOf(Error);
        expect(response.headers.has("Retry-After")).toBe(true);
      }
    },
  );

  test('onDenied: "error" passes the denial to the error handler, with headers set', async () => {
    const { calls, response } = await deny("error");
    expect(calls).toMatchObject([
      [
        {
          name: "HeadgateDeniedError",
          code: "HEADGATE_DENIED",
          status: 429,
          decision: { allowed: false },
        },
      ],
    ]);
    expect(response.statusCode).toBe(429);
    expect(response.headers.has("Retry-After")).toBe(true);
    expect(response.body).toBeUndefined();
  });

  test("onDenied is not called for requests without their key", async () => {
    const onDenied = vi.fn();
    const one = exchange("1.2.3.4");
    const middleware = rateLimit({ limits, key: () => "", missingKey: "reject", onDenied });
    expect(await run(middleware, one)).toEqual([]);
    expect(onDenied).not.toHaveBeenCalled();
    expect(one.response.statusCode).toBe(400);
    expect(one.request).not.toHaveProperty("rateLimit");
  });
});
