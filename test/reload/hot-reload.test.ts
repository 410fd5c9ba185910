import express from "express";
import supertest from "supertest";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { connectOwnDatabase } from "../support/own-database.ts";
import { kept, source } from "./source.ts";

/*
 * Modules that are evaluated again in one process, as tools for development do after each change of a file: the client
 * stays, and what a module made before is still there.
 */

type Made = Readonly<Record<string, { close(): Promise<unknown> }>>;

let evaluations = 0;
const made: Made[string][] = [];

/** Evaluates a module again, with a limit written into it. */
async function evaluate<Module extends object>(name: string, limit: number): Promise<Module> {
  source.limit = limit;
  evaluations += 1;
  const { href } = new URL(name, import.meta.url);
  const module: Module = await import(/* @vite-ignore */ `${href}?evaluation=${evaluations}`);
  made.push(...Object.values(module as Made));
  return module;
}

beforeAll(() => {
  kept.keptRedis = connectOwnDatabase();
});
beforeEach(async () => {
  await kept.keptRedis.flushdb();
  vi.stubEnv("NODE_ENV", "development");
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const one of made.splice(0)) await one.close();
});
afterAll(() => kept.keptRedis.quit());

describe("a limiter", () => {
  const evaluateLimiter = async (limit: number) =>
    (await evaluate<typeof import("./limiter.ts")>("limiter.ts", limit)).limiter;

  test("a limiter whose limit is edited is recreated on reload", async () => {
    const before = await evaluateLimiter(10);
    expect(await before.consume("u")).toMatchObject({ limit: 10, remaining: 9, source: "store" });
    for (const limit of [20, 30, 10]) {
      const after = await evaluateLimiter(limit);
      expect(await after.consume("u")).toMatchObject({ limit, source: "store" });
    }
    await expect(before.consume("u")).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
  });

  test("a reload does not close a limiter that other bundles of the application hold", async () => {
    const bundles = [await evaluateLimiter(4), await evaluateLimiter(4), await evaluateLimiter(4)];
    for (const [i, bundle] of bundles.entries()) {
      expect(await bundle.consume("u")).toMatchObject({ remaining: 3 - i, source: "store" });
    }
    const edited = [await evaluateLimiter(5), await evaluateLimiter(5)];
    for (const one of edited) expect((await one.consume("u")).limit).toBe(5);
  });

  test.each(["production", "test", "", undefined])(
    "a name taken by another policy is rejected if NODE_ENV is %s",
    async (mode) => {
      vi.stubEnv("NODE_ENV", mode);
      const limiter = await evaluateLimiter(7);
      await expect(evaluateLimiter(8)).rejects.toMatchObject({ code: "HEADGATE_DUPLICATE_NAME" });
      expect((await limiter.consume("u")).allowed).toBe(true);
    },
  );
});

test("a breaker whose options are edited is recreated on reload", async () => {
  const evaluateBreaker = async (calls: number) =>
    (await evaluate<typeof import("./breaker.ts")>("breaker.ts", calls)).breaker;
  const [before, after] = [await evaluateBreaker(1), await evaluateBreaker(2)];
  await after.record("failure");
  expect((await after.snapshot()).state).toBe("closed");
  await after.record("failure");
  expect((await after.snapshot()).state).toBe("open");
  await expect(before.snapshot()).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
});

test.each(["limit", "tiered"] as const)(
  "Express middleware whose limit is edited is recreated on reload: %s",
  async (name) => {
    for (const limit of [10, 20, 10]) {
      const module = await evaluate<typeof import("./middleware.ts")>("middleware.ts", limit);
      const app = express().use(module[name], (_, res) => void res.end());
      const { status, headers } = await supertest(app).get("/");
      expect([status, headers["x-ratelimit-limit"]]).toEqual([200, `${limit}`]);
    }
  },
);

test("a Fastify application that is closed on reload can be created again", async () => {
  for (const limit of [10, 20, 10]) {
    const { app } = await evaluate<typeof import("./application.ts")>("application.ts", limit);
    expect((await app.inject("/")).json()).toMatchObject({ limit, source: "store" });
  }
});
