import { createRequire } from "node:module";
import { parseGuardOptions } from "@headgate/core/internal-http";
import { redisStore } from "@headgate/core/redis";
import headgate, { fixedWindow, memoryStore, slidingLog } from "@headgate/fastify";
import type { FastifyInstance, FastifyPluginAsync, FastifyPluginCallback } from "fastify";
import Fastify from "fastify";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { useOwnDatabase } from "../../support/own-database.ts";
import { page } from "../markdown.ts";
import { readDeclarations } from "./declarations.ts";
import { load } from "./programs.ts";
import {
  describeDifferences,
  describeErrors,
  describeSetUps,
  namesIn,
  tablesIn,
} from "./side-by-side.ts";
import type { Traffic, TrafficRequest } from "./traffic.ts";
import { compareAnswers, from, isOk, sendAll, statusesOf, times } from "./traffic.ts";
import { unreachableRedis } from "./unreachable-redis.ts";
import { admittedAtWindowEdge, freezeClock } from "./window-edge.ts";

/** Loaded without types: its types and Headgate's declare the same properties of Fastify differently. */
const peer: unknown = createRequire(import.meta.url)("@fastify/rate-limit");

const it = page("docs/moving/from-fastify-rate-limit.md");

/** Starts a server until the test ends. Resolves with its URL. */
async function serve(app: FastifyInstance): Promise<string> {
  onTestFinished(() => app.close());
  return app.listen({ port: 0, host: "127.0.0.1" });
}

async function sendToProgram(
  program: string,
  requests: readonly TrafficRequest[],
): Promise<Response[]> {
  const { app } = await load(program, ["app"]);
  return sendAll(await serve(app as FastifyInstance), requests);
}

describeSetUps<Traffic>(
  it,
  {
    "The five-minute move": { requests: times(7), statuses: [200, 200, 200, 200, 200, 429, 429] },
    Redis: { requests: times(5), statuses: [200, 200, 200, 429, 429] },
    "Routes with limits of their own": {
      requests: [...times(3, { path: "/search" }), ...times(5), ...times(5, { path: "/health" })],
      statuses: [200, 200, 429, 200, 200, 200, 200, 429, 200, 200, 200, 200, 200],
    },
  },
  compareAnswers(sendToProgram),
);

type Plugin = FastifyPluginAsync<never> | FastifyPluginCallback<never>;

async function serveWith(
  plugin: unknown,
  options: object,
  arrange?: (app: FastifyInstance) => void,
) {
  const app = Fastify({ trustProxy: true });
  arrange?.(app);
  await app.register(plugin as Plugin, options as never);
  app.get("/", async () => "hello");
  return serve(app);
}

const onceAMinute = fixedWindow({ limit: 1, window: "1m" });

const redis = useOwnDatabase();

describeDifferences(it, {
  async "The window can slide."() {
    freezeClock();
    const store = memoryStore({ clock: () => Date.now() });
    const limits = slidingLog({ limit: 3, window: "1m" });
    const before = await serveWith(peer, { max: 3, timeWindow: 60_000 });
    const after = await serveWith(headgate, { name: "slides", limits, store });
    const admitted = await admittedAtWindowEdge({
      before: () => isOk(before),
      after: () => isOk(after),
    });
    expect(admitted).toEqual({ before: 5, after: 3 });
  },
  async "A wrong option is an error."() {
    const [answer] = await sendAll(await serveWith(peer, { max: -1 }), times(1));
    expect(answer?.headers.get("x-ratelimit-limit")).toBe("1000");
    const limits = { ...onceAMinute, limit: -1 };
    await expect(serveWith(headgate, { limits })).rejects.toThrow("limit must be");
  },
  async "Redis may fail."() {
    const redis = unreachableRedis();
    const before = await serveWith(peer, { max: 2, redis });
    const limits = fixedWindow({ limit: 2, window: "1m" });
    const after = await serveWith(headgate, { name: "away", limits, store: redisStore(redis) });
    expect(statusesOf(await sendAll(before, times(3)))).toEqual([500, 500, 500]);
    expect(statusesOf(await sendAll(after, times(3)))).toEqual([200, 200, 429]);
  },
  async "A denial is not an exception."() {
    const arrange = (app: FastifyInstance) =>
      app.setErrorHandler((error: { statusCode: number }, _, reply) =>
        reply.code(error.statusCode).send("handled"),
      );
    const answers: string[] = [];
    for (const [plugin, options] of [
      [peer, { max: 1 }],
      [headgate, { limits: onceAMinute }],
      [headgate, { limits: onceAMinute, onDenied: "error" }],
    ] as const) {
      const [, denied] = await sendAll(await serveWith(plugin, options, arrange), times(2));
      expect(denied?.status).toBe(429);
      answers.push((await denied?.text()) ?? "");
    }
    expect(answers).toEqual(["handled", expect.stringContaining('"1-per-1m"'), "handled"]);
  },
  async "A client without a key is counted by its address."() {
    const key = () => undefined;
    const requests = [from("203.0.113.1"), from("203.0.113.2")];
    const before = await serveWith(peer, { max: 1, keyGenerator: key });
    const after = await serveWith(headgate, { limits: onceAMinute, key });
    expect(statusesOf(await sendAll(before, requests))).toEqual([200, 429]);
    expect(statusesOf(await sendAll(after, requests))).toEqual([200, 200]);
  },
  async "Each registration counts for itself."() {
    const statuses = async (plugin: unknown, optionsOf: (scope: string) => object) => {
      const app = Fastify();
      for (const prefix of ["/a", "/b"]) {
        app.register(
          async (scope) => {
            await scope.register(plugin as Plugin, optionsOf(prefix) as never);
            scope.get("/", async () => "hello");
          },
          { prefix },
        );
      }
      return statusesOf(await sendAll(await serve(app), [{ path: "/a" }, { path: "/b" }]));
    };
    const store = redisStore(redis);
    expect(await statuses(peer, () => ({ max: 1, redis }))).toEqual([200, 429]);
    const own = (name: string) => ({ name, limits: onceAMinute, store });
    expect(await statuses(headgate, own)).toEqual([200, 200]);
    expect(await statuses(headgate, () => own("both"))).toEqual([200, 429]);
  },
});

afterEach(() => {
  vi.useRealTimers();
});

test("a ban of the plugin is a 403, and a block of Headgate a 429, from the same request on", async () => {
  const before = await sendAll(await serveWith(peer, { max: 2, ban: 2 }), times(7));
  const limits = fixedWindow({ limit: 2, window: "1m", block: { after: 3, for: "1h" } });
  const after = await sendAll(await serveWith(headgate, { limits }), times(7));
  expect(statusesOf(before)).toEqual([200, 200, 429, 429, 403, 403, 403]);
  expect(statusesOf(after)).toEqual([200, 200, 429, 429, 429, 429, 429]);
  const isBlocked = after.map(({ headers }) => Number(headers.get("retry-after")) > 3_500);
  expect(isBlocked).toEqual(statusesOf(before).map((status) => status === 403));
});

test("a client that continues is locked out by both, and by Headgate for longer each time", async () => {
  freezeClock();
  let requests = 0;
  const everySecond = async (app: string): Promise<number> => {
    requests += 1;
    vi.setSystemTime(Date.now() + 1_000);
    return statusesOf(await sendAll(app, times(1)))[0] as number;
  };
  const before = await serveWith(peer, { max: 2, timeWindow: 60_000, continueExceeding: true });
  const limits = fixedWindow({
    limit: 2,
    window: "1m",
    block: { after: 3, for: ["10m", "1h"] },
  });
  const store = memoryStore({ clock: () => Date.now() });
  const after = await serveWith(headgate, { name: "goes-on", limits, store });
  const admitted = { before: 0, after: 0 };
  for (let i = 0; i < 300; i += 1) {
    if ((await everySecond(before)) === 200) admitted.before += 1;
    if ((await everySecond(after)) === 200) admitted.after += 1;
  }
  expect(requests).toBe(600);
  expect(admitted).toEqual({ before: 2, after: 2 });
});

test("unknown routes are limited without a hook", async () => {
  const requests = [{ path: "/x" }, { path: "/y" }];
  const before = await sendAll(await serveWith(peer, { max: 1 }), requests);
  const after = await sendAll(await serveWith(headgate, { limits: onceAMinute }), requests);
  expect(statusesOf(before)).toEqual([404, 404]);
  expect(statusesOf(after)).toEqual([404, 429]);
});

describe("the options", () => {
  const tables = tablesIn(it, "Every option").slice(0, -1);
  const types = readDeclarations("node_modules/@fastify/rate-limit/types", "index.d.ts");

  test("the page covers all options of its types", () => {
    expect(namesIn(tables).toSorted()).toEqual(
      types.propertiesOf("RateLimitPluginOptions").toSorted(),
    );
    const ofRoutes = [
      ...types.propertiesOf("RateLimitOptions"),
      ...types.propertiesOf("CreateRateLimitOptions"),
    ];
    expect(namesIn(tables)).toEqual(expect.arrayContaining(ofRoutes));
  });

  describeErrors(tables, (options) => parseGuardOptions("headgate", options, undefined, ["hook"]), [
    "allowList",
    "hook",
    "store",
  ]);
});
