import { memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import request from "supertest";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createApp } from "./app.ts";

// Supertest comes from here.
const CLIENT = "127.0.0.1";

let now = 1_800_000_000_000;
const store = memoryStore({ clock: () => now });
const { app, limiter } = createApp(store);

beforeEach(() => {
  store.clear();
});

test("a client sees the remaining requests", async () => {
  const first = await request(app).get("/").expect(200);
  expect(first.body).toEqual({ left: 99, degraded: false });
});

test("a client that has used it up is denied, with the time to wait", async () => {
  await limiter.consume(CLIENT, { cost: 100 });
  const denied = await request(app).get("/").expect(429);
  expect(denied.headers["retry-after"]).toBe("1");
  expect(denied.body).toMatchObject({ "violated-policies": ["100-per-1m"] });
});

test("a request is recovered after 600 ms, and not before", async () => {
  await limiter.consume(CLIENT, { cost: 100 });
  now += 599;
  await request(app).get("/").expect(429);
  now += 1;
  await request(app).get("/").expect(200);
});

test("a test can force a denial", async () => {
  await limiter.block(CLIENT, "1h");
  await request(app).get("/").expect(429);
  await limiter.unblock(CLIENT);
  await request(app).get("/").expect(200);
});

let away: Redis | undefined;

test("without Redis, the application keeps serving", async () => {
  // A port without a listener.
  away = new Redis({ host: CLIENT, port: 1, retryStrategy: () => null });
  away.on("error", () => {});
  const answer = await request(createApp(redisStore(away)).app)
    .get("/")
    .expect(200);
  expect(answer.body).toEqual({ left: 99, degraded: true });
});

afterEach(() => {
  away?.disconnect();
});
