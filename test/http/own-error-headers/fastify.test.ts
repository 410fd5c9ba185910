import type { AddressInfo } from "node:net";
import type { OnDenied } from "@headgate/fastify";
import headgate from "@headgate/fastify";
import type { FastifyReply, FastifyRequest } from "fastify";
import Fastify from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { createHttpClient } from "../support/send-request.ts";
import { bug, combine, expectKept, limits, thrown, tooFast, withHeaders } from "./denials.ts";

describe("Fastify", () => {
  type Handler =
    | ((
        error: Error & { statusCode?: number },
        request: FastifyRequest,
        reply: FastifyReply,
      ) => unknown)
    | undefined;

  const ends: Readonly<Record<string, OnDenied | "error">> = {
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

  async function denialWith(onDenied: OnDenied | "error", handler: Handler) {
    const app = Fastify();
    onTestFinished(() => app.close());
    if (handler !== undefined) app.setErrorHandler(handler);
    await app.register(headgate, { limits, onDenied });
    app.get("/", async () => "hello");
    await app.listen({ host: "127.0.0.1", port: 0 });
    const { sendRequest, end } = createHttpClient({
      port: (app.server.address() as AddressInfo).port,
    });
    onTestFinished(end);
    await sendRequest();
    return sendRequest();
  }

  test.each(combine(ends, handlers))(
    "$end, answered by $by: the headers of the denial stay",
    async ({ end, by, onDenied, handler }) => {
      const denied = await denialWith(onDenied, handler);
      expectKept(denied, by === "another error" ? by : end);
      if (end.endsWith("with headers") && handler === undefined) {
        expect(denied.headers["x-own"]).toBe("own");
      }
    },
  );

  test.each(Object.entries(ends))(
    "%s: headers that the handler removes are gone",
    async (_, onDenied) => {
      for (const answer of ["send", "the raw response", "the handler around it"]) {
        const { headers } = await denialWith(onDenied, (error, request, reply) => {
          reply.removeHeader("Retry-After");
          return handlers[answer]?.(error, request, reply);
        });
        expect(headers, answer).not.toHaveProperty("retry-after");
        expect(headers["x-ratelimit-limit"], answer).toBe("1");
      }
    },
  );

  test.each(Object.entries(ends))(
    "%s: headers that the handler sets are sent once",
    async (_, onDenied) => {
      const { headers } = await denialWith(onDenied, (_error, _request, reply) =>
        reply.code(429).header("retry-after", "7").send({}),
      );
      expect(headers["retry-after"]).toBe("7");
    },
  );
});
