// Hono on Node: each client address gets 5 requests and a new one every 12 seconds, and some routes also have their own limits.
//
//   npx -y pnpm@10.34.9 build
//   node examples/hono/server.mjs             (PROXIES=10.0.0.7 trusts X-Real-IP of that proxy)
//   curl -i http://localhost:3000/search      (three times)

import { byHeader, gcra, rateLimit } from "@headgate/hono";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";

/** Yours would be in a database. */
const CUSTOMERS = new Map([["ada-key", "ada"]]);

const proxies = process.env["PROXIES"]?.split(",");

// Hono knows no proxies: Headgate reads the header where the connection comes from one of them, and nowhere else.
const address = proxies && { header: "x-real-ip", trust: proxies };

const everything = rateLimit({ limits: gcra({ limit: 5, window: "1m" }), address });
const searches = rateLimit({ limits: gcra({ limit: 2, window: "1m" }), address });
const reports = rateLimit({
  limits: gcra({ limit: 3, window: "1m" }),
  key: byHeader("x-api-key"),
  missingKey: "reject",
});
const accounts = rateLimit({
  limits: gcra({ limit: 3, window: "1m" }),
  key: (c) => {
    const customer = CUSTOMERS.get(c.req.header("x-api-key") ?? "");
    if (customer === undefined) throw new HTTPException(401, { message: "no such key" });
    return customer;
  },
});

// Against guessing coupons: those that exist cost nothing.
const guesses = rateLimit({ limits: gcra({ limit: 3, window: "1m" }), address, count: "failed" });

// One a second: a client that asks more often waits its turn.
const prices = rateLimit({ limits: gcra({ limit: 1, window: "1s" }), address, wait: "10s" });

/** @type {Hono<{ Bindings: import("@hono/node-server").HttpBindings }>} */
const app = new Hono();

// Routes registered before the middleware are not limited.
app.get("/health", (c) => c.text("ok"));
app.use(everything);
app.get("/", (c) => c.json({ left: everything.decisionOf(c)?.decision.remaining }));
app.get("/search", searches, (c) => c.json({ left: everything.decisionOf(c)?.decision.remaining }));
app.get("/reports", reports, () => new Response("a report"));
app.get("/account", accounts, (c) => c.text("an account"));
app.get("/coupon", guesses, (c) =>
  c.req.query("of") === "nobody" ? c.text("no coupon", 404) : c.text("a coupon"),
);
app.get("/prices", timed, prices, (c) => c.text("prices"));

/**
 * Says how long the application takes; Headgate adds how long a request waited.
 *
 * @param {import("hono").Context} c
 * @param {import("hono").Next} next
 */
async function timed(c, next) {
  c.header("Server-Timing", "app;dur=0.1");
  await next();
}

serve({ fetch: app.fetch, port: Number(process.env["PORT"] ?? 3000) }, ({ port }) => {
  console.log(`listening on http://127.0.0.1:${port}`);
});
