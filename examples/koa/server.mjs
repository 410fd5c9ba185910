// Koa: each client address gets 5 requests and a new one every 12 seconds, and some routes also have their own limits.
//
//   npx -y pnpm@10.34.9 build
//   node examples/koa/server.mjs              (PROXY=1 trusts X-Forwarded-For of the one proxy in front)
//   curl -i http://localhost:3000/search      (three times)

import { gcra } from "@headgate/core";
import { byHeader } from "@headgate/core/http";
import Koa from "koa";
import { rateLimit } from "./rate-limit.mjs";

/** Yours would be in a database. */
const CUSTOMERS = new Map([["ada-key", "ada"]]);

// With `proxy` alone Koa takes the first address of X-Forwarded-For, which clients make up: say how many proxies there are.
const app = new Koa({ proxy: process.env["PROXY"] !== undefined, maxIpsCount: 1 });

const everything = rateLimit({ limits: gcra({ limit: 5, window: "1m" }) });
const searches = rateLimit({ limits: gcra({ limit: 2, window: "1m" }) });
const reports = rateLimit({
  limits: gcra({ limit: 3, window: "1m" }),
  key: byHeader("x-api-key"),
  missingKey: "reject",
});
const accounts = rateLimit({
  limits: gcra({ limit: 3, window: "1m" }),
  key: (ctx) => CUSTOMERS.get(ctx.get("x-api-key")) ?? ctx.throw(401, "no such key"),
});

// Against guessing coupons: those that exist cost nothing.
const guesses = rateLimit({ limits: gcra({ limit: 3, window: "1m" }), count: "failed" });

// One a second: a client that asks more often waits its turn.
const prices = rateLimit({ limits: gcra({ limit: 1, window: "1s" }), wait: "10s" });

/** Yours would be a router's. @type {Readonly<Record<string, import("koa").Middleware>>} */
const LIMITED = {
  "/search": searches,
  "/reports": reports,
  "/account": accounts,
  "/coupon": guesses,
  "/prices": prices,
};

// Routes before the middleware are not limited.
app.use(async (ctx, next) => {
  if (ctx.path === "/health") ctx.body = "ok";
  else await next();
});
app.use(everything);
app.use(async (ctx, next) => {
  const limit = LIMITED[ctx.path];
  if (limit === undefined) await next();
  else await limit(ctx, next);
});
app.use((ctx) => {
  if (ctx.query["of"] === "nobody") ctx.throw(404, "no coupon");
  ctx.body = { left: everything.decisionOf(ctx)?.decision.remaining };
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  console.log(`listening on http://127.0.0.1:${port}`);
});
