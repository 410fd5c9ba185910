// Plain node:http: each client address gets 5 requests and a new one every 12 seconds, and some routes also have their own limits.
//
//   npx -y pnpm@10.34.9 build
//   node examples/node-http/server.mjs        (PROXIES=10.0.0.7 trusts X-Real-IP of that proxy)
//   curl -i http://localhost:3000/search      (three times)

import { createServer } from "node:http";
import { gcra } from "@headgate/core";
import { byHeader } from "@headgate/core/http";
import { rateLimit } from "./rate-limit.mjs";

/** Yours would be in a database. */
const CUSTOMERS = new Map([["ada-key", "ada"]]);

const proxies = process.env["PROXIES"]?.split(",");

// Node knows no proxies: Headgate reads the header where the connection comes from one of them, and nowhere else.
const address = proxies && { header: "x-real-ip", trust: proxies };

const everything = rateLimit({ limits: gcra({ limit: 5, window: "1m" }), address });
const searches = rateLimit({ limits: gcra({ limit: 2, window: "1m" }), address });
const reports = rateLimit({
  limits: gcra({ limit: 3, window: "1m" }),
  key: byHeader("x-api-key"),
  missingKey: "reject",
});
const accounts = rateLimit({ limits: gcra({ limit: 3, window: "1m" }), key: customerOf });
// Against guessing coupons: those that exist cost nothing.
const guesses = rateLimit({ limits: gcra({ limit: 3, window: "1m" }), address, count: "failed" });

// One a second: a client that asks more often waits its turn.
const prices = rateLimit({ limits: gcra({ limit: 1, window: "1s" }), address, wait: "10s" });

/** @param {import("node:http").IncomingMessage} req */
function customerOf(req) {
  const customer = CUSTOMERS.get(String(req.headers["x-api-key"]));
  if (customer === undefined) throw Object.assign(new Error("no such key"), { status: 401 });
  return customer;
}

const ROUTES = new Map([
  ["/health", []],
  ["/", [everything]],
  ["/search", [everything, searches]],
  ["/reports", [everything, reports]],
  ["/account", [everything, accounts]],
  ["/coupon", [everything, guesses]],
  ["/prices", [everything, prices]],
]);

/**
 * @param {import("node:http").IncomingMessage} req
 * @param {import("node:http").ServerResponse} res
 */
async function answer(req, res) {
  const limits = ROUTES.get(req.url?.split("?", 1)[0] ?? "");
  if (limits === undefined) throw Object.assign(new Error("no such page"), { status: 404 });
  for (const limit of limits) if (!(await limit(req, res))) return;
  if (req.url === "/coupon?of=nobody") throw Object.assign(new Error("no coupon"), { status: 404 });
  res.setHeader("Content-Type", "application/json");
  res.end(JSON.stringify({ left: everything.decisionOf(req)?.decision.remaining }));
}

const server = createServer((req, res) => {
  answer(req, res).catch(({ status = 500, message }) => {
    res.statusCode = status;
    res.end(status < 500 ? message : "something went wrong");
  });
});

server.listen(Number(process.env["PORT"] ?? 3000), () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  console.log(`listening on http://127.0.0.1:${port}`);
});
