import { gcra, rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import type { Express } from "express";
import express from "express";
import express4 from "express4";
import Fastify from "fastify";
import supertest from "supertest";
import { expect, onTestFinished, test } from "vitest";
import { secondsLeft } from "./support/seconds-left.ts";

/*
 * Applications tested as many of their authors do it: with supertest, which makes a connection for each request and
 * listens by itself where the application does not.
 */

const limits = gcra({ limit: 1, window: "1h", name: "once" });

function expressApp(app: Express): Express {
  return app.use(rateLimit({ limits })).get("/", (_req, res) => {
    res.send("ok");
  });
}

const apps = {
  "Express 4": async () => expressApp(express4()),
  "Express 5": async () => expressApp(express()),
  async "Fastify 5"() {
    const app = Fastify();
    onTestFinished(() => app.close());
    app.register(headgate, { limits });
    app.get("/", async () => "ok");
    await app.ready();
    return app.server;
  },
};

test.each(Object.entries(apps))("%s allows one request and denies the next", async (_, make) => {
  const agent = supertest(await make());
  const policy = '"once";q=1;w=3600';
  const allowed = await agent.get("/").expect(200, "ok").expect("RateLimit-Policy", policy);
  expect(allowed.headers).toMatchObject({ "x-ratelimit-limit": "1", "x-ratelimit-remaining": "0" });
  expect(allowed.headers).not.toHaveProperty("retry-after");

  const denied = await agent
    .get("/")
    .expect(429)
    .expect("RateLimit-Policy", policy)
    .expect("RateLimit", /^"once";r=0;t=\d+$/)
    .expect("Content-Type", "application/problem+json")
    .expect("Cache-Control", "no-store");
  expect(denied.headers).toMatchObject({
    "x-ratelimit-limit": "1",
    "x-ratelimit-remaining": "0",
    "retry-after": secondsLeft(3_600),
  });
});
