import type { AddressInfo } from "node:net";
import type { OnDenied } from "@headgate/express";
import { rateLimit } from "@headgate/express";
import type { ErrorRequestHandler, RequestHandler } from "express";
import express from "express";
import express4 from "express4";
import { describe, expect, onTestFinished, test } from "vitest";
import { listen } from "../support/listen.ts";
import { createHttpClient } from "../support/send-request.ts";
import {
  bug,
  combine,
  expectKept,
  HEADERS,
  limits,
  thrown,
  tooFast,
  withHeaders,
} from "./denials.ts";

describe.each([
  ["Express 4", express4],
  ["Express 5", express],
])("%s", (_, makeApp) => {
  type Handler = ErrorRequestHandler | undefined;

  const ends: Readonly<Record<string, OnDenied | "error">> = {
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

  async function denialWith(onDenied: OnDenied | "error", handler: Handler) {
    const app = makeApp().set("env", "test");
    app.use(rateLimit({ limits, onDenied }) as RequestHandler, (_req, res) => void res.json({}));
    if (handler !== undefined) app.use(handler);
    const server = await listen(app);
    const { sendRequest, end } = createHttpClient({
      port: (server.address() as AddressInfo).port,
    });
    onTestFinished(end);
    await sendRequest();
    return sendRequest();
  }

  test.each(combine(ends, handlers))(
    "$end, answered by $by: the headers of the denial stay",
    async ({ end, onDenied, handler }) => {
      const denied = await denialWith(onDenied, handler);
      expectKept(denied, end);
      if (end.endsWith("with headers") && handler === undefined) {
        expect(denied.headers["x-own"]).toBe("own");
      }
    },
  );

  test.each(Object.entries(ends))(
    "%s: headers that the handler removes are gone",
    async (_, onDenied) => {
      const { headers } = await denialWith(onDenied, (error, _req, res, next) => {
        res.removeHeader("Retry-After");
        next(error);
      });
      const { "retry-after": _removed, ...others } = HEADERS;
      expect(headers).toMatchObject(others);
      expect(headers).not.toHaveProperty("retry-after");
    },
  );
});
