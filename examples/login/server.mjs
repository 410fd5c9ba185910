// A login: guessing passwords is limited for each address and account together, for each account, and for each address.
// A successful login refunds only its own charge (count: "failed"): an attacker with one account must not buy
// guesses at all the others.
//
//   npx -y pnpm@10.34.9 build
//   node examples/login/server.mjs        (with REDIS_URL=redis://... all processes count together)
//   curl -i http://localhost:3000/login -H "content-type: application/json" -d '{"email":"ada@example.org","password":"?"}'

import { redisStore } from "@headgate/core/redis";
import { byIp, combineKeys, rateLimit, slidingLog } from "@headgate/express";
import express from "express";
import { Redis } from "ioredis";

/** Yours would be in a database, and hashed. */
const PASSWORDS = new Map([
  ["ada@example.org", "lovelace"],
  ["mallory@example.org", "mallory"],
]);

const app = express();
// The addresses of your own proxies: they may say whose request it is.
app.set("trust proxy", "loopback");

const redisUrl = process.env["REDIS_URL"];
const redis = redisUrl === undefined ? undefined : new Redis(redisUrl);
redis?.on("error", console.error);

/** @param {import("express").Request} req */
const account = ({ body }) =>
  typeof body?.email === "string" ? body.email.toLowerCase() : undefined;

const login = rateLimit({
  name: "login",
  store: redis && redisStore(redis, { prefix: "hg-example" }),
  // A Redis that answers later has charged the attempt all the same, and a good login does not refund that charge: better to
  // let the login take a moment.
  storeTimeout: "2s",
  limits: [
    // For users who mistype, and against guesses from one place.
    slidingLog({ limit: 5, window: "15m", name: "pair", per: "pair" }),
    // Guesses at one account from many places. Its owner shares this one with them: so it is larger.
    slidingLog({ limit: 50, window: "1h", name: "account", per: "account" }),
    // Guesses at many accounts from one place.
    slidingLog({ limit: 20, window: "1h", name: "ip", per: "ip" }),
  ],
  key: { pair: combineKeys(byIp(), account), account },
  missingKey: "reject",
  count: "failed",
});

app.post("/login", express.json(), login, async (req, res) => {
  const password = PASSWORDS.get(account(req) ?? "");
  if (password === undefined || password !== req.body.password) {
    res.status(401).json({ error: "wrong address or password" });
    return;
  }
  res.json({ welcome: account(req) });
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  console.log(`listening on http://127.0.0.1:${port}`);
});
