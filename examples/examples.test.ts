import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, inject, test } from "vitest";
import { runExample, withServer } from "./run-example.ts";

/*
 * Each example is a process of its own, and most of them wait more than they work: they run at the same time.
 */

/** Sends requests one after another; resolves with how many were answered with each status. */
async function statuses(
  count: number,
  url: string,
  init?: RequestInit,
): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (let sent = 0; sent < count; sent += 1) {
    const response = await fetch(url, init);
    await response.arrayBuffer();
    counts[response.status] = (counts[response.status] ?? 0) + 1;
  }
  return counts;
}

test.concurrent("fastify-quickstart", async ({ expect }) => {
  await withServer("fastify-quickstart/server.mjs", async (url) => {
    expect(await statuses(6, `${url}/`)).toEqual({ 200: 5, 429: 1 });
    expect(await statuses(3, `${url}/search`)).toEqual({ 200: 2, 429: 1 });
    expect(await statuses(9, `${url}/health`)).toEqual({ 200: 9 });
    const denied = await fetch(`${url}/`);
    expect(denied.headers.get("content-type")).toContain("application/problem+json");
    expect(Number(denied.headers.get("retry-after"))).toBeLessThanOrEqual(12);
  });
});

test.concurrent("express-quickstart", async ({ expect }) => {
  await withServer("express-quickstart/server.mjs", async (url) => {
    expect(await statuses(3, `${url}/login`, { method: "POST" })).toEqual({ 200: 2, 429: 1 });
    // The three attempts at logging in were requests, too.
    expect(await statuses(3, `${url}/`)).toEqual({ 200: 2, 429: 1 });
    expect(await statuses(9, `${url}/health`)).toEqual({ 200: 9 });
  });
});

test.concurrent("shed-load", async ({ expect }) => {
  await withServer("shed-load/server.mjs", async (url, printed) => {
    const work = Array.from({ length: 100 }, () => fetch(`${url}/work`));
    expect(await statuses(3, `${url}/health`)).toEqual({ 200: 3 });
    const answers = await Promise.all(work);
    const handled = answers.filter(({ status }) => status === 200).length;
    const shed = answers.filter(({ status }) => status === 503);
    expect(handled).toBeGreaterThan(0);
    expect(shed.length).toBe(100 - handled);
    expect(shed[0]?.headers.get("retry-after")).toBe("1");
    expect(await shed[0]?.json()).toMatchObject({
      type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
    });
    // Whatever was shed is charged nothing; the three health checks and this request are charged.
    const { headers } = await fetch(`${url}/health`);
    expect(headers.get("ratelimit")).toContain(`r=${1_000 - handled - 4};`);
    expect(printed.join("\n")).toContain("shedding: ");
  });
});

test.concurrent("plans-by-api-key", async ({ expect }) => {
  await withServer("plans-by-api-key/server.mjs", async (url) => {
    const withKey = (key: string) => ({ headers: { "x-api-key": key } });
    expect(await statuses(103, url, withKey("grace-free"))).toEqual({ 200: 100, 429: 3 });
    expect(await statuses(1_003, url, withKey("ada-premium"))).toEqual({ 200: 1_000, 429: 3 });
    // Keys made up are no keys: they share what their address has.
    expect(await statuses(60, url, withKey("made-up"))).toEqual({ 200: 60 });
    expect(await statuses(60, url, withKey("made-up-too"))).toEqual({ 200: 40, 429: 20 });
  });
});

test.concurrent("calcom-throttler", async ({ expect }) => {
  await withServer("calcom-throttler/server.mjs", async (url) => {
    const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
    expect(await statuses(3, url, withKey("grace-key"))).toEqual({ 200: 2, 429: 1 });
    const blocked = await fetch(url, withKey("grace-key"));
    expect(blocked.status).toBe(429);
    // Her block lasts for an hour, and not only for her window.
    expect(Number(blocked.headers.get("retry-after"))).toBeGreaterThan(3_000);
    const ada = await fetch(url, withKey("ada-key"));
    expect(ada.headers.get("ratelimit-policy")).toBe('"burst";q=3;w=1, "daily";q=5;w=86400');
    expect(await statuses(121, url, withKey("made-up"))).toEqual({ 200: 120, 429: 1 });
  });
});

test.concurrent("twenty-throttler", async ({ expect }) => {
  expect((await runExample("twenty-throttler/main.mjs")).split("\n")).toEqual([
    "workspace-1:graphql: 3 taken, 2 left",
    "workspace-1:graphql: Limit reached, again in 1 min",
    "workspace-1:graphql: 3 taken, 4 left",
    "workspace-1:graphql: 40 taken, 10 left",
    "workspace-1:graphql: Limit reached, again in 60 min",
    "left: 4 a minute",
    "",
  ]);
});

test.concurrent("novu-throttler", async ({ expect }) => {
  const asking = (key: string, method = "POST") => ({ method, headers: { "x-api-key": key } });
  await withServer("novu-throttler/server.mjs", async (url) => {
    const bulk = `${url}/v1/events/trigger/bulk`;
    const single = `${url}/v1/events/trigger`;
    expect(await statuses(1, bulk, asking("free-key"))).toEqual({ 201: 1 });
    expect(await statuses(3, single, asking("free-key"))).toEqual({ 201: 1, 429: 2 });
    expect(await statuses(13, bulk, asking("business-key"))).toEqual({ 201: 12, 429: 1 });
    const lists = `${url}/v1/subscribers`;
    expect(await statuses(4, lists, asking("free-key", "GET"))).toEqual({ 200: 3, 429: 1 });
    expect(await statuses(1, single, asking("made-up"))).toEqual({ 401: 1 });
  });
  const dry = { DRY_RUN: "1" };
  await withServer(
    "novu-throttler/server.mjs",
    async (url) => {
      const bulk = `${url}/v1/events/trigger/bulk`;
      expect(await statuses(9, bulk, asking("free-key"))).toEqual({ 201: 9 });
    },
    dry,
  );
});

test.concurrent("strapi-throttler", async ({ expect }) => {
  await withServer("strapi-throttler/server.mjs", async (url) => {
    const as = (identifier: string) => ({ method: "POST", body: JSON.stringify({ identifier }) });
    const login = `${url}/api/auth/local`;
    expect(await statuses(6, login, as("ada@example.org"))).toEqual({ 400: 5, 429: 1 });
    const denied = await fetch(login, as(" Ada@example.org"));
    expect(await denied.json()).toMatchObject({ data: null, error: { name: "RateLimitError" } });
    expect(denied.headers.has("retry-after")).toBe(true);
    expect(denied.headers.get("ratelimit")).toMatch(/^"auth";r=0/);
    expect(await statuses(1, login, as("grace@example.org"))).toEqual({ 400: 1 });
    const forgotten = `${url}/api/auth/forgot-password`;
    expect(await statuses(1, forgotten, as("ada@example.org"))).toEqual({ 400: 1 });
  });
});

test.concurrent("several-limits", async ({ expect }) => {
  await withServer("several-limits/server.mjs", async (url) => {
    const acme = { headers: { "x-tenant": "acme" } };
    let admitted = 0;
    let impatience = 0;
    let wait = "";
    // An impatient client: it asks again at once, and all its denials cost its tenant nothing.
    while (wait === "") {
      const response = await fetch(url, acme);
      const body = (await response.json()) as { "violated-policies"?: string[] };
      if (response.ok) admitted += 1;
      else if (body["violated-policies"]?.includes("5-per-1s")) impatience += 1;
      if (body["violated-policies"]?.includes("12-per-1h"))
        wait = String(response.headers.get("retry-after"));
    }
    expect(admitted).toBe(12);
    expect(impatience).toBeGreaterThan(0);
    expect(Number(wait)).toBeGreaterThan(3_500);
    await expect
      .poll(async () => (await fetch(url, { headers: { "x-tenant": "other" } })).status)
      .toBe(200);
    expect((await fetch(url)).status).toBe(400);
  });
});

test.concurrent("without-http", async ({ expect }) => {
  expect((await runExample("without-http/main.mjs")).split("\n")).toEqual([
    'ada: sent "welcome", 2 left',
    "ada: bounced, refunded: true",
    'ada: sent "your order", 1 left',
    'ada: sent "your parcel", 0 left',
    'ada: not sent, "our newsletter" may go in 60 minutes',
    'grace: sent "welcome", 2 left',
    "ada may get one now: false",
    "after a reset: true",
    "",
  ]);
});

test.concurrent("several-processes", async ({ expect }) => {
  const output = await runExample("several-processes/main.mjs", {
    REDIS_URL: inject("redisSocket"),
  });
  expect(output).toMatch(/^each process: \d+ \d+ \d+ \d+ of 100\ntogether: 100\n$/);
});

describe.concurrent.each([
  { example: "fastify-upstream", fallback: { last: { price: 3 } } },
  { example: "express-upstream", fallback: { price: 4 } },
])("$example", ({ example, fallback }) => {
  test.for(["in memory", "on Redis"])("%s", async (where, { expect }) => {
    const environment = where === "on Redis" ? { REDIS_URL: inject("redisSocket") } : {};
    const run = async (url: string, printed: readonly string[]): Promise<void> => {
      const upstream = /the upstream is (\S+)/.exec(printed.join("\n"))?.[1];
      const price = async () => (await fetch(`${url}/prices/tea`)).json();
      expect(await price()).toEqual({ price: 3 });
      await fetch(`${upstream}/fail`, { method: "PUT" });
      expect((await fetch(`${url}/orders/tea`)).status).toBe(500);
      const refusals = ["error", "result"].map((reason) => ({ ...fallback, reason }));
      expect(refusals).toContainEqual(await price());
      // Outcomes are sent a quarter of a second late, or, in memory, at once.
      await expect.poll(price).toEqual({ ...fallback, reason: "open" });
      const refused = await fetch(`${url}/orders/tea`);
      expect(refused.status).toBe(503);
      expect(["1", "2"]).toContain(refused.headers.get("retry-after"));
      await fetch(`${upstream}/work`, { method: "PUT" });
      // Two trial calls, then it is closed. Each change is reported, in the order of the states' diagram.
      const reported = async () => {
        await price();
        return [...printed.join("\n").matchAll(/\bto"?: ?["']([\w-]+)/g)].map(([, to]) => to);
      };
      await expect.poll(reported, { timeout: 10_000 }).toEqual(["open", "half-open", "closed"]);
      expect(await price()).toEqual({ price: 3 });
    };
    await withServer(`${example}/server.mjs`, run, environment);
  });
});

test.concurrent("upstream-fleet", async ({ expect }) => {
  const output = await runExample("upstream-fleet/main.mjs", { REDIS_URL: inject("redisSocket") });
  const [, first = "", ...others] = output.split("\n").slice(0, 5);
  const made = Number(/^process 1 made (\d+) calls, .* its own among them$/.exec(first)?.[1]);
  expect(made).toBeGreaterThanOrEqual(20);
  expect(others).toHaveLength(3);
  for (const line of others)
    expect(line).toMatch(/^process . made 0 calls, .* none of them its own$/);
  expect(output).toContain(`The upstream was asked ${made} times.\n`);
  expect(output).toMatch(/\ntogether 5, and it was closed in all\n$/);
});

test.concurrent("octokit", async ({ expect }) => {
  const output = await runExample("octokit/main.mjs");
  const refused = Number(/^25 repositories read, (\d+) requests refused\n$/.exec(output)?.[1]);
  // Those in flight when the first was refused.
  expect(refused).toBeLessThanOrEqual(10);
});

test.concurrent("openai", async ({ expect }) => {
  const output = await runExample("openai/main.mjs");
  expect(output).toMatch(/^62 answers, [0-3] requests refused\n$/);
});

test.concurrent("shopify", async ({ expect }) => {
  const output = await runExample("shopify/main.mjs");
  expect(output).toMatch(/^30 queries answered, \d+ throttled\n$/);
});

test.concurrent("api-crawler", async ({ expect }) => {
  const output = await runExample("api-crawler/main.mjs", { REDIS_URL: inject("redisSocket") });
  expect(output).toMatch(
    /^each process: 60 60 60 pages\ntogether: 180 pages\nrequests: 180, and \d+ refused\n$/,
  );
});

test.concurrent("demo", async ({ expect }) => {
  const demo = spawn(process.execPath, [join(import.meta.dirname, "demo/main.mjs")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(demo, "exit");
  try {
    const link = await linkIn(createInterface(demo.stdout));
    const { status, headers } = await fetch(link, { redirect: "manual" });
    expect(status).toBe(200);
    const page = new URL(headers.get("refresh")?.replace(/^0; url=/, "") ?? "", link);
    const cookie = headers.get("set-cookie")?.split(";")[0] ?? "";
    const limiters = async (): Promise<string[]> => {
      const answer = await fetch(new URL("api/overview?span=1h", page), { headers: { cookie } });
      const overview = (await answer.json()) as { limiters: { name: string }[] };
      return overview.limiters.map(({ name }) => name).sort();
    };
    await expect.poll(limiters, { timeout: 50_000 }).toEqual(["api", "login", "search"]);
  } finally {
    demo.kill("SIGINT");
  }
  expect(await exited).toEqual([0, null]);
});

/** The link in what the demo prints. */
async function linkIn(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) {
    const [link] = /http:\S+/.exec(line) ?? [];
    if (link !== undefined) return link;
  }
  throw new Error("the demo printed no link");
}

test.concurrent("shaping", async ({ expect }) => {
  const output = await runExample("shaping/main.mjs");
  const left = [...output.matchAll(/^order (\d) leaves after (\d+) ms$/gm)].map(
    ([, order, ms]) => ({
      order: Number(order),
      ms: Number(ms),
    }),
  );
  expect(left.map(({ order }) => order)).toEqual([1, 2, 3, 4, 5, 6]);
  // Every 200 ms from the first decision on, which was made after the clock was started.
  for (const { order, ms } of left) expect(ms).toBeGreaterThanOrEqual((order - 1) * 200 - 1);
});

test("every example has a test", () => {
  const folders = readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  expect(folders.sort()).toEqual([
    "access-log",
    "api-client",
    "api-crawler",
    "behind-a-proxy",
    "better-auth",
    "budgets",
    "calcom-throttler",
    "demo",
    "dub-errors",
    "exports",
    "express-quickstart",
    "express-upstream",
    "fastify-quickstart",
    "fastify-upstream",
    "graphql-cost",
    "hono",
    "jobs",
    "koa",
    "lambda",
    "language-model-gateway",
    "login",
    "login-protection",
    "mcp-tools",
    "monthly-quota",
    "nestjs",
    "node-http",
    "novu-throttler",
    "octokit",
    "openai",
    "per-customer",
    "plans-by-api-key",
    "plans-from-a-database",
    "providers",
    "replay",
    "route-handlers",
    "several-limits",
    "several-processes",
    "several-regions",
    "shadow-first",
    "shaping",
    "shed-load",
    "shopify",
    "socket-io",
    "strapi-throttler",
    "testing",
    "twenty-throttler",
    "upstream-fleet",
    "webhooks",
    "websocket",
    "without-http",
  ]);
});
