// One process of the shop: on Fastify or on Express, with the same limits on the same Redis.
//
//   node application.mjs fastify|express REDIS_URL
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import express from "express";
import Fastify from "fastify";
import { Redis } from "ioredis";
import { API, LOGIN, SEARCH } from "./policies.mjs";

const [framework, url = ""] = process.argv.slice(2);
// Plain addresses, so that the dashboard can show them; by default usage stores only hashes.
const store = redisStore(new Redis(url), { usage: { subjects: "plain" } });
const breaker = createBreaker({
  name: "payments",
  store,
  minimumCalls: 20,
  minimumSuccessRate: 0.5,
  window: "1m",
  openFor: "20s",
});

/** The provider fails for a minute in three. */
const isDown = () => Math.floor(Date.now() / 60_000) % 3 === 2;

async function pay() {
  const paid = await breaker.run(
    async () => {
      if (isDown()) throw new Error("the provider does not answer");
      return "paid";
    },
    { fallback: () => "paid later" },
  );
  return { paid };
}

async function onFastify() {
  const app = Fastify({ trustProxy: "loopback" });
  await app.register(headgate, { name: "api", limits: API, store });
  app.post(
    "/login",
    { config: { rateLimit: { name: "login", limits: LOGIN, store } } },
    () => ({}),
  );
  const search = { name: "search", limits: SEARCH.now, store };
  app.get("/search", { config: { rateLimit: search } }, () => ({}));
  app.post("/pay", pay);
  app.get("/*", () => ({}));
  await app.listen({ port: 0, host: "127.0.0.1" });
  return app.server;
}

async function onExpress() {
  const app = express();
  app.set("trust proxy", "loopback");
  app.use(rateLimit({ name: "api", limits: API, store }));
  app.post("/login", rateLimit({ name: "login", limits: LOGIN, store }), send({}));
  app.get("/search", rateLimit({ name: "search", limits: SEARCH.before, store }), send({}));
  app.post("/pay", async (_request, response) => void response.json(await pay()));
  app.use(send({}));
  /** @type {import("node:http").Server} */
  const server = await new Promise((resolve) => {
    const listening = app.listen(0, "127.0.0.1", () => resolve(listening));
  });
  return server;
}

/**
 * @param {object} body
 * @returns {import("express").RequestHandler}
 */
function send(body) {
  return (_request, response) => void response.json(body);
}

const server = await (framework === "fastify" ? onFastify() : onExpress());
const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
// The process that started this one has ended.
process.on("disconnect", () => process.exit());
process.on("SIGINT", () => {});
process.send?.(port);
