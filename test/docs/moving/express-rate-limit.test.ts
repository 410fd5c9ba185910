import {
  byIp,
  fixedWindow,
  rateLimit as headgate,
  memoryStore,
  perRequest,
  slidingLog,
  subjectOfAddress,
} from "@headgate/express";
import type { Express, RequestHandler } from "express";
import express from "express";
import { rateLimit } from "express-rate-limit";
import { afterEach, describe, expect, test, vi } from "vitest";
import { serve } from "../../support/serve.ts";
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
import { admittedAtWindowEdge, freezeClock } from "./window-edge.ts";

const it = page("docs/moving/from-express-rate-limit.md");

/** An application whose clients send their address in a header. */
function limited(middleware: unknown): Express {
  const app = express().set("trust proxy", "loopback").set("env", "test");
  app.use(middleware as RequestHandler);
  app.use((_, res) => {
    res.sendStatus(200);
  });
  return app;
}

async function sendToProgram(
  program: string,
  requests: readonly TrafficRequest[],
): Promise<Response[]> {
  const { app, limit } = await load(program, ["app", "limit"]);
  return sendAll(await serve((app as Express) ?? limited(limit)), requests);
}

const as = (header: string, value: string): TrafficRequest => ({ headers: { [header]: value } });

describeSetUps<Traffic>(
  it,
  {
    "The five-minute move": { requests: times(7), statuses: [200, 200, 200, 200, 200, 429, 429] },
    Redis: { requests: times(5), statuses: [200, 200, 200, 429, 429] },
    "A customer's key and plan": {
      requests: [
        ...times(3, as("x-api-key", "ada")),
        ...times(5, { headers: { "x-api-key": "grace", "x-plan": "premium" } }),
        ...times(3),
      ],
      statuses: [200, 200, 429, 200, 200, 200, 200, 429, 200, 200, 429],
    },
    "From express-slow-down": { requests: times(4), statuses: [200, 200, 200, 200] },
  },
  compareAnswers(sendToProgram),
);

const minute = 60_000;
const onceAMinute = fixedWindow({ limit: 1, window: "1m" });

/** Returns the statuses of both applications. */
async function compare(theirs: unknown, ours: unknown, requests: readonly TrafficRequest[]) {
  const before = await sendAll(await serve(limited(theirs)), requests);
  const after = await sendAll(await serve(limited(ours)), requests);
  return { before: statusesOf(before), after: statusesOf(after), denied: after.at(-1) };
}

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describeDifferences(it, {
  async "The window can slide."() {
    freezeClock();
    const store = memoryStore({ clock: () => Date.now() });
    const limits = slidingLog({ limit: 3, window: "1m" });
    const before = await serve(limited(rateLimit({ windowMs: minute, limit: 3 })));
    const after = await serve(limited(headgate({ name: "slides", limits, store })));
    const admitted = await admittedAtWindowEdge({
      before: () => isOk(before),
      after: () => isOk(after),
    });
    expect(admitted).toEqual({ before: 5, after: 3 });
  },
  async "Several limits are one decision."() {
    const accounts = fixedWindow({ limit: 1, window: "1m", per: "account" });
    const limit = headgate({
      limits: [fixedWindow({ limit: 5, window: "1h", per: "ip" }), accounts],
      key: { account: () => "ada" },
    });
    await sendAll(await serve(limited(limit)), times(4));
    const subjects = { ip: "127.0.0.1", account: "ada" };
    const { limits } = await limit.limiter.peek(subjects, { cost: 0 });
    expect(limits).toMatchObject([{ remaining: 4 }, { remaining: 0 }]);
  },
  async "A client without a key is counted by its address."() {
    const key = (req: { get(name: string): string | undefined }) => req.get("x-api-key");
    const keyGenerator = key as never;
    const requests = [from("203.0.113.1"), from("203.0.113.2")];
    const theirs = rateLimit({ windowMs: minute, limit: 1, keyGenerator });
    const { before, after } = await compare(
      theirs,
      headgate({ limits: onceAMinute, key }),
      requests,
    );
    expect({ before, after }).toEqual({ before: [200, 429], after: [200, 200] });
    const reject = await serve(
      limited(headgate({ limits: onceAMinute, key, missingKey: "reject" })),
    );
    expect(statusesOf(await sendAll(reject, requests))).toEqual([400, 400]);
  },
  async "An IPv6 client is its /64."() {
    const requests = [from("2001:db8:0:1::1"), from("2001:db8:0:2::1"), from("2001:db8:0:2::2")];
    const theirs = rateLimit({ windowMs: minute, limit: 1 });
    const { before, after } = await compare(theirs, headgate({ limits: onceAMinute }), requests);
    expect({ before, after }).toEqual({ before: [200, 429, 429], after: [200, 200, 429] });
    const as56 = await serve(
      limited(headgate({ limits: onceAMinute, key: byIp({ ipv6Prefix: 56 }) })),
    );
    expect(statusesOf(await sendAll(as56, requests))).toEqual(before);
  },
  async "The body of a 429 is JSON."() {
    const text = "Too many requests, please try again later.";
    const onDenied = (_: unknown, res: { send(body: string): unknown }) => res.send(text);
    const bodies: unknown[] = [];
    for (const middleware of [
      rateLimit({ windowMs: minute, limit: 1 }),
      headgate({ limits: onceAMinute }),
      headgate({ limits: onceAMinute, onDenied }),
    ]) {
      const [, denied] = await sendAll(await serve(limited(middleware)), times(2));
      bodies.push([denied?.status, denied?.headers.get("content-type"), await denied?.text()]);
    }
    expect(bodies).toEqual([
      [429, "text/html; charset=utf-8", text],
      [429, "application/problem+json", expect.stringContaining('"violated-policies"')],
      [429, "text/html; charset=utf-8", text],
    ]);
  },
  async "A wrong option is an error."() {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const limits = perRequest(onceAMinute, () => fixedWindow({ limit: Number.NaN, window: "1m" }));
    const theirs = rateLimit({ windowMs: minute, limit: () => Number.NaN });
    const { before, after } = await compare(theirs, headgate({ limits }), times(3));
    expect({ before, after }).toEqual({ before: [200, 200, 200], after: [500, 500, 500] });
    const logger = { error: vi.fn(), warn: vi.fn() };
    rateLimit({ logger, windwMs: minute } as never);
    expect(logger.error.mock.calls.length + logger.warn.mock.calls.length).toBeGreaterThan(0);
    expect(() => headgate({ limits: onceAMinute, windowMs: minute } as never)).toThrow(
      "Headgate's way is",
    );
  },
});

test("a denial is not cacheable, and names the limit that denied", async () => {
  const theirs = rateLimit({ windowMs: minute, limit: 1 });
  const { denied } = await compare(theirs, headgate({ limits: onceAMinute }), times(2));
  expect(denied?.headers.get("cache-control")).toBe("no-store");
  expect(await denied?.json()).toMatchObject({ "violated-policies": ["1-per-1m"] });
});

test("resetKey corresponds to reset, and getKey to peek", async () => {
  const address = "203.0.113.1";
  const theirs = rateLimit({ windowMs: minute, limit: 1 });
  const ours = headgate({ limits: onceAMinute });
  const urls = [await serve(limited(theirs)), await serve(limited(ours))];
  const statuses = () =>
    Promise.all(urls.map((url) => sendAll(url, [from(address)]).then(statusesOf)));
  expect(await statuses()).toEqual([[200], [200]]);
  const subject = subjectOfAddress(address);
  expect((await theirs.getKey(address))?.totalHits).toBe(1);
  expect((await ours.limiter.peek(subject, { cost: 0 })).remaining).toBe(0);
  expect(await statuses()).toEqual([[429], [429]]);
  theirs.resetKey(address);
  await ours.limiter.reset(subject);
  expect(await statuses()).toEqual([[200], [200]]);
});

describe("the options", () => {
  const tables = tablesIn(it, "Every option");
  const types = readDeclarations("node_modules/express-rate-limit/dist", "index.d.ts");

  test("the page covers all options of its types", () => {
    expect(namesIn(tables).toSorted()).toEqual(types.propertiesOf("Options").toSorted());
  });

  describeErrors(
    [...tables, ...tablesIn(it, "From express-slow-down")],
    (options) => headgate({ limits: onceAMinute, ...options } as never),
    ["headers", "skip", "store"],
  );
});
