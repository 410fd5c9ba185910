import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import type { HeadersOption } from "@headgate/core/http";
import { fixedWindow, memoryStore, rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import { HeadgateModule } from "@headgate/nestjs";
import type { DynamicModule, Provider } from "@nestjs/common";
import { APP_GUARD } from "@nestjs/core";
import { ThrottlerGuard, ThrottlerModule } from "@nestjs/throttler";
import { Octokit } from "@octokit/core";
import { throttling } from "@octokit/plugin-throttling";
import type { RequestHandler } from "express";
import express from "express";
import type { Options } from "express-rate-limit";
import { rateLimit as expressRateLimit } from "express-rate-limit";
import Fastify from "fastify";
import type { RateLimiterRes } from "rate-limiter-flexible";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { parseRateLimit } from "ratelimit-header-parser";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { controller, PLATFORMS, serveNest } from "./nest/serve-nest.ts";
import { listen } from "./support/listen.ts";

/*
 * Clients of other limiters go on reading their headers after a move: both send the same, at the same moment of a clock that stands.
 */

/** Without its types, which give `app.rateLimit` another one. */
const peerPlugin: unknown = createRequire(import.meta.url)("@fastify/rate-limit");

const windowMs = 60_000;
const limits = fixedWindow({ limit: 2, window: "1m" });

/** Half a second past a whole one, so that rounding shows. */
const NOW = Date.UTC(2030, 0, 1) + 500;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});

afterEach(() => {
  vi.useRealTimers();
});

async function serve(...middleware: readonly RequestHandler[]): Promise<string> {
  const app = express();
  for (const one of middleware) app.use(one);
  app.use((_req, res) => void res.json({}));
  const server = await listen(app);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function ours(headers: HeadersOption): RequestHandler {
  const store = memoryStore({ clock: () => Date.now() });
  return rateLimit({ name: "api", limits, store, headers }) as RequestHandler;
}

/** The rate-limit headers of three requests, ten seconds after each other, of which the last is denied. */
async function headersOf(url: string): Promise<Record<string, string>[]> {
  vi.setSystemTime(NOW);
  const all: Record<string, string>[] = [];
  for (let i = 0; i < 3; i += 1) {
    const answer = await fetch(url);
    expect(answer.status).toBe(i < 2 ? 200 : 429);
    const limited = [...answer.headers].filter(([name]) => /ratelimit|retry-after/.test(name));
    all.push(Object.fromEntries(limited));
    vi.setSystemTime(Date.now() + 10_000);
  }
  return all;
}

const expressCases: readonly (readonly [string, Partial<Options>, HeadersOption])[] = [
  [
    "legacy headers",
    { legacyHeaders: true, standardHeaders: false },
    { standard: false, reset: "epoch" },
  ],
  ["draft 6", { legacyHeaders: false, standardHeaders: "draft-6" }, { legacy: "ratelimit" }],
];

test.each(expressCases)("%s of express-rate-limit", async (_, there, headers) => {
  const theirs = await headersOf(await serve(expressRateLimit({ windowMs, limit: 2, ...there })));
  expect(Object.keys(theirs[0] ?? {}).length).toBeGreaterThan(2);
  expect(await headersOf(await serve(ours(headers)))).toEqual(theirs);
});

test("the parser of express-rate-limit reads the same values from Headgate's headers, for each draft", async () => {
  const read = async (middleware: RequestHandler) => {
    const all = await headersOf(await serve(middleware));
    vi.setSystemTime(NOW);
    return all.map((headers) => parseRateLimit(headers));
  };
  for (const [, there, headers] of expressCases) {
    const theirs = await read(expressRateLimit({ windowMs, limit: 2, ...there }));
    expect(theirs.map((one) => one?.remaining)).toEqual([1, 0, 0]);
    expect(await read(ours(headers))).toEqual(theirs);
  }
  // It takes the standard header for that of draft 7: why "ratelimit" turns it off.
  const [both] = await read(ours({ legacy: "ratelimit", standard: true }));
  expect(both?.limit).toBeNaN();
});

test.each([
  ["default headers", {}, { standard: false }],
  ["draft spec", { enableDraftSpec: true }, { legacy: "ratelimit" }],
] as const)("%s of @fastify/rate-limit", async (_, there, headers) => {
  const store = memoryStore({ clock: () => Date.now() });
  const both: Record<string, string>[][] = [];
  for (const [plugin, options] of [
    [peerPlugin, { max: 2, timeWindow: windowMs, ...there }],
    [headgate, { name: "api", limits, store, headers }],
  ] as const) {
    const app = Fastify();
    onTestFinished(() => app.close());
    await app.register(plugin as typeof headgate, options as object);
    app.get("/", async () => ({}));
    both.push(await headersOf(await app.listen({ host: "127.0.0.1", port: 0 })));
  }
  const [theirs, own] = both;
  // They send no list of quotas.
  expect(own?.map(({ "ratelimit-policy": _policy, ...others }) => others)).toEqual(theirs);
});

describe.each(PLATFORMS)("Nest on %s", (platform) => {
  async function headersBy(
    imports: readonly DynamicModule[],
    ...providers: readonly Provider[]
  ): Promise<Record<string, string>[]> {
    const controllers = [controller({ "": [] })];
    const { app } = await serveNest({ imports, controllers, providers }, platform);
    return headersOf(await app.getUrl());
  }

  test.each([
    ["blocks for a window from its denial", {}, "1m"],
    ["denies until its window ends", { blockDuration: 0 }, undefined],
  ] as const)("headers match a Nest throttler that %s", async (_, there, block) => {
    const theirs = await headersBy(
      [ThrottlerModule.forRoot([{ ttl: windowMs, limit: 2, ...there }])],
      { provide: APP_GUARD, useClass: ThrottlerGuard },
    );
    const store = memoryStore({ clock: () => Date.now() });
    const own = await headersBy([
      HeadgateModule.forRoot({
        name: "api",
        limits: { ...limits, ...(block !== undefined && { block }) },
        store,
        headers: { standard: false },
      }),
    ]);
    expect(theirs[0]).toHaveProperty("x-ratelimit-reset", "60");
    expect(own.slice(0, 2)).toEqual(theirs.slice(0, 2));
    // Theirs of a denial are no more than this.
    expect(Object.keys(theirs[2] ?? {})).toEqual(["retry-after"]);
    expect(own[2]).toMatchObject(theirs[2] ?? {});
  });
});

test("headers match those on rate-limiter-flexible's page", async () => {
  const limiter = new RateLimiterMemory({ points: 2, duration: 60 });
  const theirs = await headersOf(
    await serve((_req, res, next) => {
      const set = ({ msBeforeNext, remainingPoints }: RateLimiterRes) => {
        res.set("X-RateLimit-Limit", "2");
        res.set("X-RateLimit-Remaining", String(remainingPoints));
        res.set("X-RateLimit-Reset", String(Math.ceil((Date.now() + msBeforeNext) / 1_000)));
      };
      limiter.consume("one").then(
        (left) => {
          set(left);
          next();
        },
        (denied: RateLimiterRes) => {
          set(denied);
          res.status(429).json({});
        },
      );
    }),
  );
  const headers = { standard: false, reset: "epoch", retryAfter: false } as const;
  expect(await headersOf(await serve(ours(headers)))).toEqual(theirs);
});

test("Octokit waits until the reset", async () => {
  const url = await serve(ours({ reset: "epoch" }));
  const waits: number[] = [];
  const throttle = {
    onRateLimit: (retryAfter: number) => {
      waits.push(retryAfter);
      return false;
    },
    onSecondaryRateLimit: () => false,
    enabled: true,
  };
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const Client = Octokit.plugin(throttling);
  const octokit = new Client({ baseUrl: url, throttle, log });
  await octokit.request("GET /");
  await octokit.request("GET /");
  await expect(octokit.request("GET /")).rejects.toMatchObject({ status: 429 });
  // A second more than the minute, which it adds itself, and half a second of rounding.
  expect(waits).toEqual([62]);
});
