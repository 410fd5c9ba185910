import type { AddressInfo } from "node:net";
import { gcra } from "@headgate/core";
import type { OnDenied as OnDeniedInExpress } from "@headgate/express";
import { rateLimit } from "@headgate/express";
import type { OnDenied as OnDeniedInFastify } from "@headgate/fastify";
import headgate from "@headgate/fastify";
import type { ErrorRequestHandler, RequestHandler } from "express";
import express from "express";
import express4 from "express4";
import type { FastifyReply, FastifyRequest } from "fastify";
import Fastify from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Answer } from "./support/ask.ts";
import { askAt } from "./support/ask.ts";
import { listen } from "./support/listen.ts";
import { secondsLeft } from "./support/seconds-left.ts";

/*
 * However an application ends a denied request by an error, and whatever then answers that error: the headers stay.
 */

const limits = gcra({ limit: 1, window: "1h" });

const HEADERS = {
  "retry-after": secondsLeft(3_600),
  "cache-control": "no-store",
  "x-ratelimit-limit": "1",
  "x-ratelimit-remaining": "0",
  "x-ratelimit-reset": secondsLeft(3_600),
  ratelimit: expect.stringMatching(/^"1-per-1h";r=0;t=\d+$/),
  "ratelimit-policy": '"1-per-1h";q=1;w=3600',
};

/** An error in the shape of `http-errors`. */
class TooFast extends Error {
  readonly status = 429;
  readonly statusCode = 429;
}

const tooFast = () => new TooFast("too fast");
const withHeaders = () => Object.assign(tooFast(), { headers: { "x-own": "own" } });
const bug = () => new Error("a bug");

function thrown(make: () => Error): () => never {
  return () => {
    throw make();
  };
}

function combine<End, Handler>(
  ends: Readonly<Record<string, End>>,
  handlers: Readonly<Record<string, Handler>>,
) {
  return Object.entries(ends).flatMap(([end, onDenied]) =>
    Object.entries(handlers).map(([by, handler]) => ({ end, by, onDenied, handler })),
  );
}

function expectKept({ status, headers }: Answer, end: string): void {
  expect(status).toBe(end.includes("a bug") ? 500 : 429);
  expect(headers).toMatchObject(HEADERS);
}

describe.each([
  ["Express 4", express4],
  ["Express 5", express],
])("%s", (_, makeApp) => {
  type Handler = ErrorRequestHandler | undefined;

  const ends: Readonly<Record<string, OnDeniedInExpress | "error">> = {
    '"error"': "error",
    "an own error": thrown(tooFast),
    "an own error, rejected": async () => Promise.reject(tooFast()),
    "an own error with headers": thrown(withHeaders),
    "a bug": thrown(bug),
    "next(error)": (req) => req.next?.(tooFast()),
  };
  const handlers: Readonly<Record<string, Handler>> = {
    "Express itself": undefined,
    json: (error, _req, res, _next) => void res.status(error.status ?? 500).json({}),
    writeHead: (error, _req, res, _next) =>
      void res.writeHead(error.status ?? 500, { "content-type": "text/plain" }).end("slower"),
    "the next handler": (error, _req, _res, next) => next(error),
  };

  async function denialWith(onDenied: OnDeniedInExpress | "error", handler: Handler) {
    const app = makeApp().set("env", "test");
    app.use(rateLimit({ limits, onDenied }) as RequestHandler, (_req, res) => void res.json({}));
    if (handler !== undefined) app.use(handler);
    const server = await listen(app);
    const { ask, end } = askAt({ port: (server.address() as AddressInfo).port });
    onTestFinished(end);
    await ask();
    return ask();
  }

  test.each(combine(ends, handlers))(
    "$end, answered by $by",
    async ({ end, onDenied, handler }) => {
      const denied = await denialWith(onDenied, handler);
      expectKept(denied, end);
      if (end.endsWith("with headers") && handler === undefined) {
        expect(denied.headers["x-own"]).toBe("own");
      }
    },
  );

  test.each(Object.entries(ends))("%s: what the handler removes is gone", async (_, onDenied) => {
    const { headers } = await denialWith(onDenied, (error, _req, res, next) => {
      res.removeHeader("Retry-After");
      next(error);
    });
    const { "retry-after": _removed, ...others } = HEADERS;
    expect(headers).toMatchObject(others);
    expect(headers).not.toHaveProperty("retry-after");
  });
});

describe("Fastify", () => {
  type Handler =
    | ((
        error: Error & { statusCode?: number },
        request: FastifyRequest,
        reply: FastifyReply,
      ) => unknown)
    | undefined;

  const ends: Readonly<Record<string, OnDeniedInFastify | "error">> = {
    '"error"': "error",
    "an own error": thrown(tooFast),
    "an own error, rejected": async () => Promise.reject(tooFast()),
    "an own error with headers": thrown(withHeaders),
    "an own error, sent": (_, reply) => void reply.send(tooFast()),
    "a bug": thrown(bug),
  };
  const handlers: Readonly<Record<string, Handler>> = {
    "Fastify itself": undefined,
    send: ({ statusCode = 500 }, _, reply) => void reply.code(statusCode).send({}),
    "a returned value": async ({ statusCode = 500 }, _, reply) => {
      reply.code(statusCode);
      return {};
    },
    "the handler around it": (error, _, reply) => void reply.send(error),
    "another error": thrown(tooFast),
    "the raw response": ({ statusCode = 500 }, _, reply) => {
      reply.hijack();
      reply.raw.writeHead(statusCode, { "content-type": "text/plain" }).end("slower");
    },
  };

  async function denialWith(onDenied: OnDeniedInFastify | "error", handler: Handler) {
    const app = Fastify();
    onTestFinished(() => app.close());
    if (handler !== undefined) app.setErrorHandler(handler);
    await app.register(headgate, { limits, onDenied });
    app.get("/", async () => "hello");
    await app.listen({ host: "127.0.0.1", port: 0 });
    const { ask, end } = askAt({ port: (app.server.address() as AddressInfo).port });
    onTestFinished(end);
    await ask();
    return ask();
  }

  test.each(combine(ends, handlers))(
    "$end, answered by $by",
    async ({ end, by, onDenied, handler }) => {
      const denied = await denialWith(onDenied, handler);
      expectKept(denied, by === "another error" ? by : end);
      if (end.endsWith("with headers") && handler === undefined) {
        expect(denied.headers["x-own"]).toBe("own");
      }
    },
  );

  test.each(Object.entries(ends))("%s: what the handler removes is gone", async (_, onDenied) => {
    for (const answer of ["send", "the raw response", "the handler around it"]) {
      const { headers } = await denialWith(onDenied, (error, request, reply) => {
        reply.removeHeader("Retry-After");
        return handlers[answer]?.(error, request, reply);
      });
      expect(headers, answer).not.toHaveProperty("retry-after");
      expect(headers["x-ratelimit-limit"], answer).toBe("1");
    }
  });

  test.each(Object.entries(ends))("%s: what the handler sets is sent once", async (_, onDenied) => {
    const { headers } = await denialWith(onDenied, (_error, _request, reply) =>
      reply.code(429).header("retry-after", "7").send({}),
    );
    expect(headers["retry-after"]).toBe("7");
  });
});
