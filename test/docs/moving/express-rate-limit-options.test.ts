import type { HeadersOption } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import {
  byIp,
  fixedWindow,
  rateLimit as headgate,
  memoryStore,
  perRequest,
} from "@headgate/express";
import type { RequestHandler } from "express";
import express from "express";
import type { Options, RateLimitRequestHandler, Store } from "express-rate-limit";
import { rateLimit } from "express-rate-limit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { serve } from "../../support/serve.ts";
import { page } from "../markdown.ts";
import { load } from "./programs.ts";
import { describeRows } from "./rows.ts";
import { setUpsOf, tablesIn } from "./side-by-side.ts";
import type { TrafficRequest } from "./traffic.ts";
import { expectSameHeaders, from, sendAll, statusesOf, times } from "./traffic.ts";
import { unreachableRedis } from "./unreachable-redis.ts";

const it = page("docs/moving/from-express-rate-limit.md");

const windowMs = 60_000;
const perMinute = (limit: number) => fixedWindow({ limit, window: "1m" });

/** An application of one middleware. It answers with the status in `X-Answer`, and with the result of `read` for the request. */
async function serveWith(middleware: RequestHandler, read?: (req: express.Request) => unknown) {
  const app = express().set("trust proxy", "loopback").set("env", "test");
  app.use(middleware, (req, res) => {
    res.status(Number(req.get("x-answer") ?? 200)).json(read?.(req) ?? {});
  });
  return serve(app);
}

interface Sides {
  readonly there: RateLimitRequestHandler;
  readonly here: ReturnType<typeof headgate>;
  readonly requests: readonly TrafficRequest[];
  readonly statuses: readonly number[];
}

/** Expects the same answers from both, and resolves with them. */
async function expectSame({ there, here, requests, statuses }: Sides) {
  const theirs = await sendAll(await serveWith(there), requests);
  const ours = await sendAll(await serveWith(here as RequestHandler), requests);
  expect({ theirs: statusesOf(theirs), ours: statusesOf(ours) }).toEqual({
    theirs: statuses,
    ours: statuses,
  });
  return { theirs, ours };
}

const answered = (status: number, count = 1) =>
  times(count, { headers: { "x-answer": String(status) } });

const limit = () =>
  expectSame({
    there: rateLimit({ windowMs, limit: (req) => (req.get("x-plan") ? 2 : 1) }),
    here: headgate({
      limits: perRequest(perMinute(1), (req) => perMinute(req.get("x-plan") ? 2 : 1)),
    }),
    requests: [
      ...times(2),
      ...times(3, { headers: { "x-plan": "premium", ...from("203.0.113.1").headers } }),
    ],
    statuses: [200, 429, 200, 200, 429],
  });

/** A store of express-rate-limit whose database does not answer. */
function storeThatIsAway(): Store {
  const fail = () => Promise.reject(new Error("away"));
  return { increment: fail, decrement: fail, resetKey: fail };
}

type Case = readonly [there: Partial<Options>, here: HeadersOption, value: unknown];

/** Expects both to send a header with a value, or not to send it, for the second request under a limit of one. */
async function expectHeaders(name: string, cases: readonly Case[]): Promise<void> {
  for (const [there, here, value] of cases) {
    const { theirs, ours } = await expectSame({
      there: rateLimit({ windowMs, limit: 1, ...there }),
      here: headgate({ limits: perMinute(1), headers: here }),
      requests: times(2),
      statuses: [200, 429],
    });
    const values = [theirs, ours].map((answers) => answers.at(-1)?.headers.get(name));
    expect(values, JSON.stringify(there)).toEqual([value, value]);
  }
}

const bodiesOf = (answers: readonly Response[]) =>
  Promise.all(answers.map((answer) => answer.text()));

// express-rate-limit logs the errors of its stores.
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describeRows(tablesIn(it, "Every option"), {
  async windowMs() {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2030, 0, 1) });
    const store = memoryStore({ clock: () => Date.now() });
    const there = await serveWith(rateLimit({ windowMs, limit: 2 }));
    const here = await serveWith(
      headgate({ name: "window", limits: perMinute(2), store }) as RequestHandler,
    );
    const statuses: number[][] = [];
    for (const at of [0, 1_000, 2_000, 59_000, 61_000, 119_000, 120_000]) {
      vi.setSystemTime(Date.UTC(2030, 0, 1) + at);
      const answers = [...(await sendAll(there, times(1))), ...(await sendAll(here, times(1)))];
      statuses.push(statusesOf(answers));
    }
    expect(statuses).toEqual([
      [200, 200],
      [200, 200],
      [429, 429],
      [429, 429],
      [200, 200],
      [200, 200],
      [429, 429],
    ]);
  },
  async limit() {
    await limit();
    await expectSame({
      there: rateLimit({ windowMs, limit: 2 }),
      here: headgate({ limits: perMinute(2) }),
      requests: times(3),
      statuses: [200, 200, 429],
    });
  },
  async max() {
    await expectSame({
      there: rateLimit({ windowMs, max: 2 }),
      here: headgate({ limits: perMinute(2) }),
      requests: times(3),
      statuses: [200, 200, 429],
    });
  },
  async identifier() {
    const { theirs, ours } = await expectSame({
      there: rateLimit({ windowMs, limit: 1, identifier: "burst", standardHeaders: "draft-8" }),
      here: headgate({ limits: fixedWindow({ limit: 1, window: "1m", name: "burst" }) }),
      requests: times(1),
      statuses: [200],
    });
    const policies = [...theirs, ...ours].map((answer) => answer.headers.get("ratelimit-policy"));
    expect(policies).toEqual([
      expect.stringMatching(/^"burst"; ?q=1;/),
      expect.stringMatching(/^"burst"; ?q=1;/),
    ]);
  },
  async keyGenerator() {
    await expectSame({
      there: rateLimit({ windowMs, limit: 1, keyGenerator: (req) => req.get("x-user") ?? "none" }),
      here: headgate({ limits: perMinute(1), key: (req) => req.get("x-user") ?? "none" }),
      requests: [
        ...times(2, { headers: { "x-user": "ada" } }),
        ...times(1, { headers: { "x-user": "grace" } }),
      ],
      statuses: [200, 429, 200],
    });
  },
  async ipv6Subnet() {
    const requests = ["2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:2::1", "2001:db8:1::1"];
    const each: readonly (readonly [48 | false, number, number[]])[] = [
      [48, 48, [200, 429, 429, 200]],
      [false, 128, [200, 200, 200, 200]],
    ];
    for (const [ipv6Subnet, ipv6Prefix, statuses] of each) {
      await expectSame({
        there: rateLimit({ windowMs, limit: 1, ipv6Subnet }),
        here: headgate({ limits: perMinute(1), key: byIp({ ipv6Prefix }) }),
        requests: requests.map(from),
        statuses,
      });
    }
    await expectSame({
      there: rateLimit({ windowMs, limit: 1, ipv6Subnet: () => 48 }),
      here: headgate({
        limits: perMinute(1),
        key: (req, address) => byIp({ ipv6Prefix: 48 })(req, address),
      }),
      requests: requests.map(from),
      statuses: [200, 429, 429, 200],
    });
  },
  async skip() {
    const skip = (req: express.Request) => req.path === "/health";
    await expectSame({
      there: rateLimit({ windowMs, limit: 1, skip }),
      here: headgate({ limits: perMinute(1), skip }),
      requests: [...times(3, { path: "/health" }), ...times(2)],
      statuses: [200, 200, 200, 200, 429],
    });
  },
  async skipFailedRequests() {
    await expectSame({
      there: rateLimit({ windowMs, limit: 2, skipFailedRequests: true }),
      here: headgate({ limits: perMinute(2), count: "succeeded" }),
      requests: [...answered(500, 9), ...answered(302), ...answered(200, 2)],
      statuses: [...Array(9).fill(500), 302, 200, 429],
    });
  },
  async skipSuccessfulRequests() {
    await expectSame({
      there: rateLimit({ windowMs, limit: 2, skipSuccessfulRequests: true }),
      here: headgate({ limits: perMinute(2), count: "failed" }),
      requests: [...answered(200, 9), ...answered(401, 3)],
      statuses: [...Array(9).fill(200), 401, 401, 429],
    });
  },
  async requestWasSuccessful() {
    const wasSuccessful = (_: express.Request, res: express.Response) => res.statusCode !== 401;
    const guesses = answered(401, 50);
    await expectSame({
      there: rateLimit({
        windowMs,
        limit: 3,
        skipSuccessfulRequests: true,
        requestWasSuccessful: wasSuccessful,
      }),
      here: headgate({ limits: perMinute(3), count: (req, res) => !wasSuccessful(req, res) }),
      requests: [...answered(404, 9), ...guesses],
      statuses: [...Array(9).fill(404), 401, 401, 401, ...Array(47).fill(429)],
    });
    await expectSame({
      there: rateLimit({
        windowMs,
        limit: 3,
        skipFailedRequests: true,
        requestWasSuccessful: wasSuccessful,
      }),
      here: headgate({ limits: perMinute(3), count: wasSuccessful }),
      requests: [...guesses, ...answered(404, 4)],
      statuses: [...Array(50).fill(401), 404, 404, 404, 429],
    });
    // The option alone has no effect.
    await expectSame({
      there: rateLimit({ windowMs, limit: 3, requestWasSuccessful: wasSuccessful }),
      here: headgate({ limits: perMinute(3) }),
      requests: guesses,
      statuses: [401, 401, 401, ...Array(47).fill(429)],
    });
  },
  async message() {
    const { theirs, ours } = await expectSame({
      there: rateLimit({ windowMs, limit: 1, message: { error: "slower" } }),
      here: headgate({
        limits: perMinute(1),
        onDenied: (_, res) => {
          res.json({ error: "slower" });
        },
      }),
      requests: times(2),
      statuses: [200, 429],
    });
    expectSameHeaders(theirs, ours);
    expect(await bodiesOf(ours)).toEqual(await bodiesOf(theirs));
  },
  async statusCode() {
    await expectSame({
      there: rateLimit({ windowMs, limit: 1, statusCode: 420 }),
      here: headgate({ limits: perMinute(1), onDenied: (_, res) => res.sendStatus(420) }),
      requests: times(2),
      statuses: [200, 420],
    });
  },
  async handler() {
    await expectSame({
      there: rateLimit({ windowMs, limit: 1, handler: (_, res) => void res.sendStatus(503) }),
      here: headgate({ limits: perMinute(1), onDenied: (_, res) => void res.sendStatus(503) }),
      requests: times(3),
      statuses: [200, 503, 503],
    });
    await expectSame({
      there: rateLimit({ windowMs, limit: 1, handler: (_req, _res, next) => next() }),
      here: headgate({ limits: perMinute(1), onDenied: () => "allow" }),
      requests: times(3),
      statuses: [200, 200, 200],
    });
  },
  async retryAfter() {
    const { theirs, ours } = await expectSame({
      there: rateLimit({ windowMs, limit: 1, retryAfter: 7 }),
      here: headgate({ limits: perMinute(1), onDenied: (_, res) => res.set("Retry-After", "7") }),
      requests: times(2),
      statuses: [200, 429],
    });
    const waits = [theirs, ours].map((answers) => answers.at(-1)?.headers.get("retry-after"));
    expect(waits).toEqual(["7", "7"]);
  },
  async legacyHeaders() {
    await expectHeaders("x-ratelimit-limit", [
      [{ legacyHeaders: false }, { legacy: false }, null],
      [{ legacyHeaders: true }, { legacy: true }, "1"],
    ]);
  },
  async headers() {
    await expectHeaders("x-ratelimit-limit", [
      [{ headers: false }, { legacy: false }, null],
      [{ headers: true }, { legacy: true }, "1"],
    ]);
  },
  async standardHeaders() {
    const value = expect.stringMatching(/"; ?r=0; ?t=60$/);
    await expectHeaders("ratelimit", [
      [{ standardHeaders: false }, { standard: false }, null],
      [{ standardHeaders: "draft-8" }, { standard: true }, value],
    ]);
    await expectHeaders("ratelimit-policy", [
      [{ standardHeaders: "draft-6" }, { legacy: "ratelimit" }, "1;w=60"],
      [{ standardHeaders: true }, { legacy: "ratelimit" }, "1;w=60"],
    ]);
  },
  async requestPropertyName() {
    const there = rateLimit({ windowMs, limit: 3, requestPropertyName: "quota" });
    const here = headgate({ limits: perMinute(3) });
    const theirs = (req: express.Request) => {
      const { limit, remaining, used } = (req as never as { quota: Record<string, number> }).quota;
      return { limit, remaining, used };
    };
    const ours = (req: express.Request) => {
      const { limit = 0, remaining = 0 } = here.decisionOf(req)?.decision ?? {};
      return { limit, remaining, used: limit - remaining };
    };
    // Another limiter with fewer remaining units, whose decision is `req.rateLimit`.
    const stricter = headgate({ limits: perMinute(2) }) as RequestHandler;
    const behind = (limiter: RequestHandler) =>
      express.Router().use(stricter, limiter) as RequestHandler;
    const before = await sendAll(await serveWith(behind(there), theirs), times(2));
    const after = await sendAll(
      await serveWith(behind(here as RequestHandler), ours),
      times(2).map((one) => ({ ...one, ...from("203.0.113.1") })),
    );
    expect(await bodiesOf(after)).toEqual(await bodiesOf(before));
  },
  async store() {
    await expectSame({
      there: rateLimit({ windowMs, limit: 1, store: storeThatIsAway(), passOnStoreError: true }),
      here: headgate({
        name: "store",
        limits: perMinute(1),
        store: redisStore(unreachableRedis()),
        onUnavailable: "allow",
      }),
      requests: times(2),
      statuses: [200, 200],
    });
  },
  async passOnStoreError() {
    await expectSame({
      there: rateLimit({ windowMs, limit: 1, store: storeThatIsAway(), passOnStoreError: true }),
      here: headgate({
        name: "pass",
        limits: perMinute(1),
        store: redisStore(unreachableRedis()),
        onUnavailable: "allow",
      }),
      requests: times(3),
      statuses: [200, 200, 200],
    });
  },
});

interface SlowedDown {
  /** The delay of each request in milliseconds, as its handler received it. */
  readonly delays: readonly number[];
  readonly statuses: readonly number[];
  /** Whether every request took at least that long. */
  readonly hasWaited: boolean;
}

/** Sends five requests to a program of the page that delays requests. */
async function slowDown(program: string): Promise<SlowedDown> {
  const { limit, delayOf } = await load(program, ["limit", "delayOf"]);
  const told = (req: express.Request) =>
    (delayOf as ((req: express.Request) => number) | undefined)?.(req) ??
    (req as never as { slowDown: { delay: number } }).slowDown.delay;
  const url = await serveWith(express.Router().use(limit as RequestHandler), told);
  const delays: number[] = [];
  const statuses: number[] = [];
  let hasWaited = true;
  for (let i = 0; i < 5; i += 1) {
    const start = performance.now();
    const answer = await fetch(url);
    const delay = Number(await answer.text());
    // Node's timers may fire a millisecond early.
    hasWaited &&= performance.now() - start >= delay - 1;
    delays.push(delay);
    statuses.push(answer.status);
  }
  return { delays, statuses, hasWaited };
}

test("unlike express-rate-limit, a denial without other headers still has Retry-After", async () => {
  const { theirs, ours } = await expectSame({
    there: rateLimit({ windowMs, limit: 1, legacyHeaders: false }),
    here: headgate({ limits: perMinute(1), headers: false }),
    requests: times(2),
    statuses: [200, 429],
  });
  const waits = [theirs, ours].map((answers) => answers.at(-1)?.headers.get("retry-after"));
  expect(waits).toEqual([null, "60"]);
});

test("a status that onDenied sets without sending a response is dropped", async () => {
  const onDenied = (_: express.Request, res: express.Response) => res.status(420);
  const here = headgate({ limits: perMinute(1), onDenied }) as RequestHandler;
  expect(statusesOf(await sendAll(await serveWith(here), times(2)))).toEqual([200, 429]);
});

test("requests are slowed down as by express-slow-down", async () => {
  const setUp = setUpsOf(it).find(({ heading }) => heading === "From express-slow-down");
  const expected = { delays: [0, 0, 50, 100, 100], statuses: Array(5).fill(200), hasWaited: true };
  expect(await slowDown(setUp?.before ?? "")).toEqual(expected);
  expect(await slowDown(setUp?.after ?? "")).toEqual(expected);
});
