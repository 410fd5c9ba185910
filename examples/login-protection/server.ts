// A login that is guarded against guessing: docs/recipes/login.md says how.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { combineKeys } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import type { Store } from "@headgate/express";
import { fixedWindow, rateLimit, slidingLog } from "@headgate/express";
import type { Express } from "express";
import express from "express";
import { Redis } from "ioredis";

/** What is read of a request, in any framework. */
interface Login {
  readonly headers: { readonly cookie?: string | undefined };
  readonly body?: unknown;
}

/** Yours are in a database, and hashed. */
const PASSWORDS = new Map([
  ["ada@example.org", "lovelace"],
  ["grace@example.org", "hopper"],
  ["mallory@example.org", "mallory"],
]);

/** Signs the cookies of devices. All processes need the same one. */
const SECRET = process.env["DEVICE_SECRET"] ?? randomBytes(32);

export function account({ body }: Login): string | undefined {
  const email = (body as { email?: unknown } | undefined)?.email;
  return typeof email === "string" && email !== "" ? email.toLowerCase() : undefined;
}

export function isRight(login: Login): boolean {
  const password = PASSWORDS.get(account(login) ?? "");
  return password !== undefined && password === (login.body as { password?: unknown }).password;
}

function sign(email: string, id: string): string {
  return createHmac("sha256", SECRET).update(`${id} ${email}`).digest("hex");
}

/** The id of a device on which somebody logged in to this account before. */
function knownDevice(login: Login): string | undefined {
  const cookie = /(?:^|; *)device=([0-9a-f]{32})\.([0-9a-f]{64})(?:;|$)/;
  const [, id, signature] = cookie.exec(login.headers.cookie ?? "") ?? [];
  if (id === undefined || signature === undefined) return undefined;
  const expected = sign(account(login) ?? "", id);
  return timingSafeEqual(Buffer.from(signature), Buffer.from(expected)) ? id : undefined;
}

// #region protection
/** The options of the limiter, in either framework. */
export function protection(store: Store) {
  return {
    name: "login",
    store,
    // A login may take a moment: better than to be counted by this process alone.
    storeTimeout: "2s",
    limits: [
      // Guesses at one account from one place are blocked, and longer each time.
      fixedWindow({
        limit: 5,
        window: "1d",
        block: ["1m", "10m", "1h"],
        name: "pair",
        per: "pair",
      }),
      // Guesses at one account from many places.
      slidingLog({ limit: 50, window: "1h", name: "account", per: "account" }),
      // Guesses at many accounts from one place.
      slidingLog({ limit: 20, window: "1h", name: "ip", per: "ip" }),
    ],
    key: {
      pair: combineKeys((login: Login, ip) => knownDevice(login) ?? ip, account),
      // A known device has a count of its own: guesses by others do not lock out its owner.
      account: combineKeys((login: Login) => knownDevice(login) ?? "unknown", account),
    },
    missingKey: "reject",
    count: "failed",
    // Never the address: an account of one's own would buy guesses at all others.
    resetDimensions: ["pair"],
  } as const;
}
// #endregion

/** The cookie that makes a device known after a good login. */
export function deviceCookie(login: Login): string {
  const id = knownDevice(login) ?? randomBytes(16).toString("hex");
  const device = `${id}.${sign(account(login) ?? "", id)}`;
  return `device=${device}; Max-Age=7776000; Path=/login; HttpOnly; Secure; SameSite=Lax`;
}

export function createApp(store: Store): Express {
  const app = express();
  // Your own proxies: only they may say whose request it is.
  app.set("trust proxy", "loopback");

  // #region route
  const limit = rateLimit(protection(store));

  app.post("/login", express.json(), limit, async (req, res) => {
    if (isRight(req)) {
      await limit.resetClient(req);
      res.append("set-cookie", deviceCookie(req));
      res.json({ welcome: account(req) });
    } else {
      res.status(401).json({ error: "wrong address or password" });
    }
  });
  // #endregion

  return app;
}

// Started as a program, not imported by a test.
if (process.argv[1] === import.meta.filename) {
  const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
  createApp(redisStore(redis)).listen(3000);
}
