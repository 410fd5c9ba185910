import type { OnDenied, RateLimitOptions } from "@headgate/nestjs";
import { HeadgateModule, RateLimit } from "@headgate/nestjs";
import type { ArgumentsHost, ExceptionFilter } from "@nestjs/common";
import { Catch, HttpException } from "@nestjs/common";
import { APP_FILTER, BaseExceptionFilter } from "@nestjs/core";
import type { Response } from "express";
import type { FastifyReply } from "fastify";
import { describe, expect, test } from "vitest";
import { controller, PLATFORMS, serveNest } from "../nest/serve-nest.ts";
import type { TestResponse } from "../support/send-request.ts";
import { bug, combine, expectKept, HEADERS, limits, thrown } from "./denials.ts";

const tooFast = () => new HttpException("too fast", 429);

const ends: Readonly<Record<string, OnDenied | "error" | undefined>> = {
  "Headgate's exception": undefined,
  '"error"': "error",
  "an own exception": thrown(tooFast),
  "an own exception, rejected": async () => Promise.reject(tooFast()),
  "a bug": thrown(bug),
};

const statusOf = (error: Error): number => ("status" in error ? Number(error.status) : 500);

type Catching = (error: Error, reply: Response & FastifyReply) => unknown;

/** By the replies that Express's and Fastify's have in common, or by Node's. */
const catching = {
  json: (error, reply) => reply.status(statusOf(error)).header("x-by", "filter").send({}),
  "the raw response": (error, reply) => {
    const isOfFastify = reply.raw !== undefined;
    if (isOfFastify) reply.hijack();
    const node = isOfFastify ? reply.raw : reply;
    node.writeHead(statusOf(error), { "x-by": "filter" }).end("slower");
  },
} satisfies Record<string, Catching>;

/** A filter of an application, or undefined for those that are there anyway. */
const handlers: Readonly<Record<string, Catching | "base" | undefined>> = {
  "Nest itself": undefined,
  "a filter around Nest's": "base",
  ...catching,
};

class Base extends BaseExceptionFilter {}
Catch()(Base);

function filterWith(handle: Catching): ExceptionFilter {
  class Filter implements ExceptionFilter {
    catch(error: Error, host: ArgumentsHost): unknown {
      return handle(error, host.switchToHttp().getResponse());
    }
  }
  Catch()(Filter);
  return new Filter();
}

/** Limits by the module, or by a decorator. */
const places = {
  "by the module": (options: RateLimitOptions) => ({
    imports: [HeadgateModule.forRoot(options)],
    controllers: [controller({ page: [] })],
  }),
  "by a decorator": (options: RateLimitOptions) => ({
    imports: [HeadgateModule.forRoot({})],
    controllers: [controller({ page: [RateLimit(options)] })],
  }),
};

async function denialWith(
  platform: (typeof PLATFORMS)[number],
  place: keyof typeof places,
  options: Partial<RateLimitOptions>,
  handler: Catching | "base" | undefined,
): Promise<TestResponse> {
  const providers = handler === "base" ? [{ provide: APP_FILTER, useClass: Base }] : [];
  const filters = typeof handler === "function" ? [filterWith(handler)] : [];
  const { sendRequest } = await serveNest(
    { ...places[place]({ limits, ...options }), providers, filters },
    platform,
  );
  await sendRequest("/page");
  return sendRequest("/page");
}

describe.each(PLATFORMS)("Nest on %s", (platform) => {
  describe.each(Object.keys(places) as (keyof typeof places)[])("%s", (place) => {
    test.each(combine(ends, handlers))(
      "$end, answered by $by: the headers of the denial stay",
      async ({ end, onDenied, handler }) => {
        const denied = await denialWith(platform, place, { onDenied }, handler);
        expectKept(denied, end);
        expect(denied.headers["x-by"]).toBe(typeof handler === "function" ? "filter" : undefined);
      },
    );
  });

  test.each(combine(ends, catching))(
    "$end, answered by $by: headers that it removes are gone",
    async ({ onDenied, handler }) => {
      const { headers } = await denialWith(
        platform,
        "by the module",
        { onDenied },
        (error, reply) => {
          reply.removeHeader("Retry-After");
          return handler(error, reply);
        },
      );
      const { "retry-after": _removed, ...others } = HEADERS;
      expect(headers).toMatchObject(others);
      expect(headers).not.toHaveProperty("retry-after");
    },
  );

  test.each(Object.entries(ends))(
    "%s: a filter that sets no status responds with the status of the exception",
    async (_, onDenied) => {
      const { status, text } = await denialWith(
        platform,
        "by the module",
        { onDenied },
        (_error, reply) => reply.send("own"),
      );
      expect([status, text]).toEqual([200, "own"]);
    },
  );

  test.each(Object.entries(ends))(
    "%s: headers that a filter sets are sent once",
    async (_, onDenied) => {
      const { headers } = await denialWith(
        platform,
        "by the module",
        { onDenied },
        (error, reply) => {
          reply.header("Retry-After", "7");
          return catching.json(error, reply);
        },
      );
      expect(headers["retry-after"]).toBe("7");
    },
  );

  test.each(combine(ends, handlers))(
    "no Retry-After if it is turned off: $end, answered by $by",
    async ({ onDenied, handler }) => {
      const options = { onDenied, headers: { retryAfter: false } };
      const { headers } = await denialWith(platform, "by the module", options, handler);
      expect(headers).not.toHaveProperty("retry-after");
      expect(headers["x-ratelimit-limit"]).toBe("1");
    },
  );

  test("headers that onDenied changes before it throws stay changed", async () => {
    for (const isRaw of platform === "Fastify" ? [false, true] : [false]) {
      for (const [by, handler] of Object.entries(handlers)) {
        const onDenied: OnDenied = (context) => {
          const reply = context.switchToHttp().getResponse<FastifyReply>();
          const changed = isRaw ? reply.raw : reply;
          changed.removeHeader("Retry-After");
          throw tooFast();
        };
        const { headers } = await denialWith(platform, "by the module", { onDenied }, handler);
        expect(headers, by).not.toHaveProperty("retry-after");
        expect(headers["x-ratelimit-limit"], by).toBe("1");
      }
    }
  });
});
