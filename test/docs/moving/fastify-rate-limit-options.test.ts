import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createRequire } from "node:module";
import type { Decision } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import headgate, { byIp, byTier, fixedWindow, memoryStore, perRequest } from "@headgate/fastify";
import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest } from "fastify";
import Fastify from "fastify";
import { Redis } from "ioredis";
import { afterEach, expect, inject, onTestFinished, test, vi } from "vitest";
import { page } from "../markdown.ts";
import { describeRows } from "./rows.ts";
import { tablesIn } from "./side-by-side.ts";
import type { TrafficRequest } from "./traffic.ts";
import { from, sendAll, statusesOf, times } from "./traffic.ts";
import { unreachableRedis } from "./unreachable-redis.ts";

/** Loaded without types: its types and Headgate's declare the same properties of Fastify differently. */
const peer: unknown = createRequire(import.meta.url)("@fastify/rate-limit");

const it = page("docs/moving/from-fastify-rate-limit.md");

const timeWindow = 60_000;
const perMinute = (limit: number) => fixedWindow({ limit, window: "1m" });

type Routes = (app: FastifyInstance) => void;

const home: Routes = (app) => {
  app.get("/", async () => "hello");
};

async function serve(plugin: unknown, options: object, routes: Routes = home): Promise<string> {
  const app = Fastify({ trustProxy: ["127.0.0.1"] });
  onTestFinished(() => app.close());
  await app.register(plugin as FastifyPluginCallback<never>, options as never);
  routes(app);
  return app.listen({ port: 0, host: "127.0.0.1" });
}

interface Sides {
  readonly there: object;
  readonly here: object;
  readonly requests: readonly TrafficRequest[];
  readonly statuses: readonly number[];
  /** The routes of both; by default one at `/`. */
  readonly routesThere?: Routes;
  readonly routesHere?: Routes;
}

/** Expects the same answers from both, and resolves with them. */
async function expectSame(sides: Sides) {
  const { there, here, requests, statuses, routesThere, routesHere = routesThere } = sides;
  const theirs = await sendAll(await serve(peer, { timeWindow, ...there }, routesThere), requests);
  const ours = await sendAll(await serve(headgate, here, routesHere), requests);
  expect({ theirs: statusesOf(theirs), ours: statusesOf(ours) }).toEqual({
    theirs: statuses,
    ours: statuses,
  });
  return { theirs, ours };
}

/** Connects to the tests' Redis until the test ends. */
function redis(): Redis {
  const client = new Redis(inject("redisSocket"));
  onTestFinished(() => client.disconnect());
  return client;
}

/** Returns the values of a header in the last answers of both. */
function lastHeaders(sides: Awaited<ReturnType<typeof expectSame>>, name: string) {
  return [sides.theirs, sides.ours].map((answers) => answers.at(-1)?.headers.get(name));
}

/** Collects the decisions that limiters of a name publish until the test ends. */
function decisionsOf(name: string): Decision[] {
  const decisions: Decision[] = [];
  const note = (message: unknown) => {
    const { limiter, decision } = message as { limiter: string; decision: Decision };
    if (limiter === name) decisions.push(decision);
  };
  subscribe("headgate:decision", note);
  onTestFinished(() => void unsubscribe("headgate:decision", note));
  return decisions;
}

const premium = { "x-plan": "premium" };
const isPremium = ({ headers }: FastifyRequest) => headers["x-plan"] === "premium";

afterEach(() => {
  vi.useRealTimers();
});

/** Returns the statuses of both sides at times in milliseconds after their construction. */
async function statusesAt(there: object, here: object, times: readonly number[]) {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2030, 0, 1) });
  const store = memoryStore({ clock: () => Date.now() });
  const urls = [await serve(peer, there), await serve(headgate, { name: "clock", store, ...here })];
  const statuses: (number | undefined)[][] = [];
  for (const at of times) {
    vi.setSystemTime(Date.UTC(2030, 0, 1) + at);
    statuses.push(await Promise.all(urls.map(async (url) => (await fetch(url)).status)));
  }
  return statuses;
}

describeRows(
  tablesIn(it, "Every option").slice(0, -1),
  {
    async max() {
      await expectSame({
        there: { max: 2 },
        here: { limits: perMinute(2) },
        requests: times(3),
        statuses: [200, 200, 429],
      });
      await expectSame({
        there: { max: (request: FastifyRequest) => (isPremium(request) ? 2 : 1) },
        here: {
          limits: perRequest(perMinute(1), (request: FastifyRequest) =>
            perMinute(isPremium(request) ? 2 : 1),
          ),
        },
        requests: [
          ...times(2),
          ...times(3, { headers: { ...premium, ...from("203.0.113.1").headers } }),
        ],
        statuses: [200, 429, 200, 200, 429],
      });
    },
    async timeWindow() {
      const options = [{ max: 2, timeWindow }, { limits: perMinute(2) }] as const;
      expect(await statusesAt(...options, [0, 1_000, 2_000, 59_000, 61_000, 62_000])).toEqual([
        [200, 200],
        [200, 200],
        [429, 429],
        [429, 429],
        [200, 200],
        [200, 200],
      ]);
      await expectSame({
        there: {
          max: 1,
          timeWindow: (request: FastifyRequest) => (isPremium(request) ? 60_000 : 3_600_000),
        },
        here: {
          limits: byTier(
            { free: fixedWindow({ limit: 1, window: "1h" }), premium: perMinute(1) },
            (request: FastifyRequest) => (isPremium(request) ? "premium" : "free"),
          ),
        },
        requests: [
          ...times(2),
          ...times(2, { headers: { ...premium, ...from("203.0.113.1").headers } }),
        ],
        statuses: [200, 429, 200, 429],
      });
    },
    async global() {
      await expectSame({
        there: { global: false },
        here: {},
        routesThere: (app) => {
          home(app);
          app.get("/few", { config: { rateLimit: { max: 1 } as never } }, async () => "few");
        },
        routesHere: (app) => {
          home(app);
          app.get("/few", { config: { rateLimit: { limits: perMinute(1) } } }, async () => "few");
        },
        requests: [...times(3), ...times(2, { path: "/few" })],
        statuses: [200, 200, 200, 200, 429],
      });
    },
    async groupId() {
      const routes = (rateLimit: object) => (app: FastifyInstance) => {
        app.get("/csv", { config: { rateLimit } as never }, async () => "csv");
      };
      // One route only, because the other limiter keeps a counter for each route, as the page says.
      await expectSame({
        there: { global: false },
        here: {},
        routesThere: routes({ max: 1, timeWindow, groupId: "export" }),
        routesHere: routes({ name: "export", limits: perMinute(1) }),
        requests: times(2, { path: "/csv" }),
        statuses: [200, 429],
      });
    },
    async exponentialBackoff() {
      const limits = fixedWindow({ limit: 1, window: "1m", block: ["1m", "2m", "4m"] });
      const sides = await expectSame({
        there: { max: 1, exponentialBackoff: true },
        here: { limits },
        requests: times(2),
        statuses: [200, 429],
      });
      expect(lastHeaders(sides, "retry-after")).toEqual(["60", "60"]);
    },
    async keyGenerator() {
      const key = ({ headers }: FastifyRequest) => String(headers["x-user"]);
      await expectSame({
        there: { max: 1, keyGenerator: key },
        here: { limits: perMinute(1), key },
        requests: [
          ...times(2, { headers: { "x-user": "ada" } }),
          ...times(1, { headers: { "x-user": "grace" } }),
        ],
        statuses: [200, 429, 200],
      });
    },
    async ipv6Subnet() {
      const requests = ["2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:1::1"].map(from);
      await expectSame({
        there: { max: 1, ipv6Subnet: 48 },
        here: { limits: perMinute(1), key: byIp({ ipv6Prefix: 48 }) },
        requests,
        statuses: [200, 429, 200],
      });
    },
    async allowList() {
      const requests = [
        ...times(2, from("198.51.100.7")),
        ...times(2, from("203.0.113.1")),
        ...times(2, { headers: premium }),
      ];
      await expectSame({
        there: { max: 1, allowList: ["198.51.100.7"] },
        here: { limits: perMinute(1), allowList: ["198.51.100.7"] },
        requests: requests.slice(0, 4),
        statuses: [200, 200, 200, 429],
      });
      await expectSame({
        there: { max: 1, allowList: isPremium },
        here: { limits: perMinute(1), allowList: isPremium },
        requests: requests.slice(2),
        statuses: [200, 429, 200, 200],
      });
    },
    async hook() {
      const key = ({ body }: FastifyRequest) => (body as { user: string } | undefined)?.user;
      const routesThere = (app: FastifyInstance) => {
        app.post("/", async () => "hello");
      };
      const post = async (url: string, user: string) => {
        const headers = { "content-type": "application/json" };
        return fetch(url, { method: "POST", headers, body: JSON.stringify({ user }) });
      };
      const there = { max: 1, timeWindow, hook: "preHandler", keyGenerator: key };
      const here = { limits: perMinute(1), hook: "preHandler", key };
      for (const [plugin, options] of [
        [peer, there],
        [headgate, here],
      ] as const) {
        const url = await serve(plugin, options, routesThere);
        const answers = [await post(url, "ada"), await post(url, "ada"), await post(url, "grace")];
        expect(statusesOf(answers)).toEqual([200, 429, 200]);
      }
    },
    async redis() {
      await expectSame({
        there: { max: 2, redis: redis() },
        here: {
          name: "api",
          limits: perMinute(2),
          store: redisStore(redis()),
          storeTimeout: "10s",
        },
        requests: times(3),
        statuses: [200, 200, 429],
      });
    },
    async nameSpace() {
      // Two applications on one Redis must not count each other's requests.
      for (const nameSpace of ["rows-cart", "rows-search"]) {
        await expectSame({
          there: { max: 1, redis: redis(), nameSpace: `${nameSpace}-` },
          here: {
            name: nameSpace,
            limits: perMinute(1),
            store: redisStore(redis(), { prefix: nameSpace }),
            storeTimeout: "10s",
          },
          requests: times(2),
          statuses: [200, 429],
        });
      }
    },
    async store() {
      const store = memoryStore();
      const sides = { there: { max: 1 }, requests: times(2), statuses: [200, 429] };
      await expectSame({ ...sides, here: { name: "store", limits: perMinute(1), store } });
    },
    async cache() {
      const sides = { requests: times(2), statuses: [200, 429] };
      const store = memoryStore({ maxKeys: 100 });
      const here = { name: "cache", limits: perMinute(1), store };
      await expectSame({ ...sides, there: { max: 1, cache: 100 }, here });
    },
    async skipOnError() {
      await expectSame({
        there: { max: 1, redis: unreachableRedis(), skipOnError: true },
        here: {
          name: "skip",
          limits: perMinute(1),
          store: redisStore(unreachableRedis()),
          onUnavailable: "allow",
        },
        requests: times(3),
        statuses: [200, 200, 200],
      });
    },
    async errorResponseBuilder() {
      const { theirs, ours } = await expectSame({
        there: { max: 1, errorResponseBuilder: () => ({ statusCode: 420, error: "slower" }) },
        here: {
          limits: perMinute(1),
          onDenied: (_: FastifyRequest, reply: FastifyReply) =>
            reply.code(420).send({ statusCode: 420, error: "slower" }),
        },
        requests: times(2),
        statuses: [200, 420],
      });
      expect(await ours.at(-1)?.json()).toEqual(await theirs.at(-1)?.json());
    },
    async onExceeded() {
      const seen: string[] = [];
      await expectSame({
        there: { max: 1, onExceeded: () => void seen.push("there") },
        here: { limits: perMinute(1), onDenied: () => void seen.push("here") },
        requests: times(3),
        statuses: [200, 429, 429],
      });
      expect(seen).toEqual(["there", "there", "here", "here"]);
    },
    async onExceeding() {
      let theirs = 0;
      const decisions = decisionsOf("exceeding");
      await expectSame({
        there: {
          max: 2,
          onExceeding: () => {
            theirs += 1;
          },
        },
        here: { name: "exceeding", limits: perMinute(2), store: memoryStore() },
        requests: times(3),
        statuses: [200, 200, 429],
      });
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(theirs);
      expect(theirs).toBe(2);
    },
    async onBanReach() {
      let theirs = 0;
      const decisions = decisionsOf("ban");
      const limits = fixedWindow({ limit: 1, window: "1m", block: "1h" });
      await sendAll(
        await serve(peer, { max: 1, ban: 0, onBanReach: () => void theirs++, timeWindow }),
        times(3),
      );
      await sendAll(await serve(headgate, { name: "ban", limits, store: memoryStore() }), times(3));
      expect(theirs).toBe(2);
      expect(decisions.filter(({ blocked }) => blocked)).toHaveLength(2);
    },
    async addHeaders() {
      const off = { "x-ratelimit-limit": false, "x-ratelimit-remaining": false };
      const sides = await expectSame({
        there: { max: 1, addHeaders: { ...off, "x-ratelimit-reset": false } },
        here: { limits: perMinute(1), headers: { legacy: false } },
        requests: times(2),
        statuses: [200, 429],
      });
      expect(lastHeaders(sides, "x-ratelimit-limit")).toEqual([null, null]);
      expect(lastHeaders(sides, "retry-after")).toEqual(["60", "60"]);
    },
    async addHeadersOnExceeding() {
      const off = { "x-ratelimit-limit": false, "x-ratelimit-remaining": false };
      const sides = await expectSame({
        there: { max: 1, addHeadersOnExceeding: { ...off, "x-ratelimit-reset": false } },
        here: { limits: perMinute(1), headers: { legacy: false } },
        requests: times(1),
        statuses: [200],
      });
      expect(lastHeaders(sides, "x-ratelimit-limit")).toEqual([null, null]);
    },
    async enableDraftSpec() {
      const sides = await expectSame({
        there: { max: 2, enableDraftSpec: true },
        here: { limits: perMinute(2), headers: { legacy: "ratelimit" } },
        requests: times(3),
        statuses: [200, 200, 429],
      });
      expect(lastHeaders(sides, "x-ratelimit-limit")).toEqual([null, null]);
      expect(lastHeaders(sides, "ratelimit-limit")).toEqual(["2", "2"]);
      expect(lastHeaders(sides, "ratelimit-remaining")).toEqual(["0", "0"]);
      expect(lastHeaders(sides, "ratelimit-reset")).toEqual(["60", "60"]);
    },
  },
  ["ban", "continueExceeding"],
);

test("a peek decides as createRateLimit with { increment: false }, and counts nothing", async () => {
  const answers: boolean[][] = [];
  type Check = (
    request: FastifyRequest,
    options?: object,
  ) => Promise<{ remaining: number; isExceeded: boolean }>;
  type There = { createRateLimit(options: object): Check };
  const there = (app: FastifyInstance) => {
    const check = (app as never as There).createRateLimit({ max: 1, timeWindow });
    app.get("/", async (request) => {
      const peeked = await check(request, { increment: false });
      const { isExceeded } = await check(request);
      answers.push([peeked.remaining > 0, !isExceeded]);
    });
  };
  const here = (app: FastifyInstance) => {
    app.get("/", async ({ ip }) => {
      const peeked = await app.headgate.limiter.peek(ip);
      const { allowed } = await app.headgate.limiter.consume(ip);
      answers.push([peeked.allowed, allowed]);
    });
  };
  await sendAll(await serve(peer, { global: false }, there), times(2));
  await sendAll(await serve(headgate, { limits: perMinute(1), skip: () => true }, here), times(2));
  expect(answers).toEqual([
    [true, true],
    [false, false],
    [true, true],
    [false, false],
  ]);
});
