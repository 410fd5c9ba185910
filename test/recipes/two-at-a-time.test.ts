import { redisStore } from "@headgate/core/redis";
import { concurrency, gcra, rateLimit } from "@headgate/express";
import express from "express";
import { expect, test } from "vitest";
import { createApp } from "../../examples/exports/server.ts";
import { page } from "../docs/markdown.ts";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { serve } from "../support/serve.ts";

useLongStoreTimeout();

const redis = useOwnDatabase();

/** Starts an export of a tenant. */
type Start = (tenant: string, rows: number, signal?: AbortSignal) => Promise<Response>;

/** Two processes that count together. */
async function startTwo(): Promise<readonly [Start, Start]> {
  const prefix = `exports-${Math.random()}`;
  const start = async (): Promise<Start> => {
    const url = await serve(createApp(redisStore(redis, { prefix })));
    return (tenant, rows, signal) => {
      const headers = { "x-tenant": tenant };
      return fetch(`${url}/export?rows=${rows}`, { headers, ...(signal && { signal }) });
    };
  };
  return [await start(), await start()];
}

test("a tenant's third export is denied in any process, and other tenants' are not", async () => {
  const [one, other] = await startTwo();
  const first = await one("acme", 1_000);
  const second = await other("acme", 1_000);
  expect([first.status, second.status]).toEqual([200, 200]);
  const third = await one("acme", 1);
  expect(third.status).toBe(429);
  expect(third.headers.get("retry-after")).toBe("1");
  expect(third.headers.get("ratelimit-policy")).toBe('"2-at-once";q=2');
  expect(third.headers.get("ratelimit")).toBe('"2-at-once";r=0');
  expect((await other("initech", 1)).status).toBe(200);
});

test("an export that has ended frees its slot", async () => {
  const [one] = await startTwo();
  await one("acme", 1_000);
  const short = await one("acme", 2);
  expect(await short.text()).toBe("0,0\n1,1\n");
  await expect.poll(async () => (await one("acme", 1)).status).toBe(200);
});

test("a client that disconnects ends its export, which frees the slot", async () => {
  const [one] = await startTwo();
  const hangUp = new AbortController();
  await one("acme", 1_000, hangUp.signal);
  await one("acme", 1_000);
  expect((await one("acme", 1)).status).toBe(429);
  hangUp.abort();
  await expect.poll(async () => (await one("acme", 1)).status).toBe(200);
});

test("a request without a tenant is rejected", async () => {
  const [one] = await startTwo();
  expect((await one("", 1)).status).toBe(400);
});

test("docs/how-to/concurrency.md shows the headers of a third export beside a quota", async () => {
  const exports = rateLimit({
    limits: [concurrency({ limit: 2, ttl: "30s" }), gcra({ limit: 20, window: "1h" })],
    key: (req) => req.get("x-tenant"),
  });
  const app = express().get("/export", exports, (_, res) => void res.write("begun"));
  const url = await serve(app);
  const start = () => fetch(`${url}/export`, { headers: { "x-tenant": "acme" } });
  await start();
  await start();
  const { status, headers } = await start();
  const shown = page("docs/how-to/concurrency.md").blocks.find(
    ({ language }) => language === "http",
  );
  const [first, ...lines] = shown?.text.trim().split("\n") ?? [];
  expect(first).toContain(` ${status} `);
  expect(lines).toHaveLength(3);
  for (const line of lines) {
    const [name = "", value] = line.split(": ");
    expect(headers.get(name)).toBe(value);
  }
});
