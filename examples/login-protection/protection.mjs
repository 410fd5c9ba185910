// How a login is limited, in any framework: README.md says why.

import { fixedWindow, slidingLog } from "@headgate/core";
import { byAll } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { cookieFor, deviceIn } from "./device.mjs";

/** Yours would be in a database, and hashed. */
const PASSWORDS = new Map([
  ["ada@example.org", "lovelace"],
  ["grace@example.org", "hopper"],
  ["mallory@example.org", "mallory"],
]);

/** @typedef {{ headers: { cookie?: string | undefined }, body?: any }} Login */

/** @param {Login} request */
export const account = ({ body }) =>
  typeof body?.email === "string" && body.email !== "" ? body.email.toLowerCase() : undefined;

/** @param {Login} request */
const device = (request) => deviceIn(request.headers.cookie, account(request) ?? "");

/** @param {Login} request @param {string | undefined} address */
const origin = (request, address) => {
  const known = device(request);
  return known === undefined ? address : `device ${known}`;
};

const redisUrl = process.env["REDIS_URL"];
const redis = redisUrl === undefined ? undefined : new Redis(redisUrl);
redis?.on("error", console.error);

const prefix = process.env["PREFIX"] ?? "hg-login-protection";

/** The options of the limiter, in either framework. */
export const protection = /** @type {const} */ ({
  name: "login",
  store: redis && redisStore(redis, { prefix }),
  // A login may take a moment: better than to be counted by one process alone.
  storeTimeout: "2s",
  limits: [
    // An attacker who guesses from one place is locked out, for longer each time. Nobody else is.
    fixedWindow({ limit: 5, window: "1d", block: ["1m", "10m", "1h"], name: "pair", per: "pair" }),
    // Guesses at one account from many places. They are slowed, and never locked out.
    slidingLog({ limit: 50, window: "1h", name: "account", per: "account" }),
    // Guesses at many accounts from one place.
    slidingLog({ limit: 20, window: "1h", name: "ip", per: "ip" }),
  ],
  key: {
    pair: byAll(origin, account),
    // A known device is counted by itself: guesses by others do not lock it out.
    account: byAll((/** @type {Login} */ request) => device(request) ?? "unknown", account),
  },
  missing: "reject",
  count: "failed",
});

/** @param {Login} request */
export function isRight(request) {
  const password = PASSWORDS.get(account(request) ?? "");
  return password !== undefined && password === request.body.password;
}

/**
 * A successful login resets the failures at this account from here; not those from elsewhere, which others made, and never those of the
 * address: otherwise an attacker with one account could buy guesses at all the others. Resolves with the cookie that makes the device known.
 * @param {Login} request
 * @param {import("@headgate/core/http").OwnDecision | undefined} own
 */
export async function welcome(request, own) {
  // If the store does not answer, nothing is reset, and nobody is locked out.
  await own?.limiter.reset({ pair: own.subject["pair"] }).catch(console.error);
  return cookieFor(String(account(request)), device(request));
}
