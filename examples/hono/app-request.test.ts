import { join } from "node:path";
import { gcra } from "@headgate/core";
import { byHeader } from "@headgate/core/http";
import { Hono } from "hono";
import { expect, test } from "vitest";

const { comingFrom, rateLimit } = await import(join(import.meta.dirname, "rate-limit.mjs"));
const limits = gcra({ limit: 2, window: "1h" });

test("a key needs no connection", async () => {
  const app = new Hono();
  app.use(rateLimit({ limits, key: byHeader("x-api-key") }));
  app.get("/", (c) => c.text("fine"));
  const statuses: number[] = [];
  for (const key of ["ada", "ada", "ada", "bob"]) {
    statuses.push((await app.request("/", { headers: { "x-api-key": key } })).status);
  }
  expect(statuses).toEqual([200, 200, 429, 200]);
});

test("an address is the one that a test hands over", async () => {
  const app = new Hono();
  app.use(rateLimit({ limits, wait: 1 }));
  app.get("/", (c) => c.text("fine"));
  const statuses: number[] = [];
  for (const address of ["203.0.113.7", "203.0.113.7", "203.0.113.7", "203.0.113.8", undefined]) {
    statuses.push((await app.request("/", {}, comingFrom(address))).status);
  }
  expect(statuses).toEqual([200, 200, 429, 200, 200]);
});

test("without an address, the error says so", async () => {
  const app = new Hono();
  const errors: Error[] = [];
  app.use(rateLimit({ limits }));
  app.get("/", (c) => c.text("fine"));
  app.onError((error, c) => {
    errors.push(error);
    return c.text("failed", 500);
  });
  expect((await app.request("/")).status).toBe(500);
  expect(errors).toMatchObject([{ code: "HEADGATE_NO_ADDRESS" }]);
});
