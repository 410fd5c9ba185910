// A device on which somebody logged in to an account before. A cookie proves it, for that account only.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** All processes need the same secret. Keep it safe: anyone who knows it can forge devices. */
const SECRET = process.env["DEVICE_SECRET"] ?? randomBytes(32);

const COOKIE = /(?:^|; *)device=([0-9a-f]{32})\.([0-9a-f]{64})(?:;|$)/;

/** @param {string} account @param {string} id */
const sign = (account, id) => createHmac("sha256", SECRET).update(`${id} ${account}`).digest("hex");

/**
 * The device that a request comes from, where somebody logged in to this account on it before.
 * @param {string | undefined} cookies the header
 * @param {string} account
 */
export function deviceIn(cookies, account) {
  const [, id, signature] = COOKIE.exec(cookies ?? "") ?? [];
  if (id === undefined || signature === undefined) return undefined;
  const isReal = timingSafeEqual(Buffer.from(signature), Buffer.from(sign(account, id)));
  return isReal ? id : undefined;
}

/**
 * What makes a device known: the value of a Set-Cookie header, for three months.
 * @param {string} account
 * @param {string} id
 */
export function cookieFor(account, id = randomBytes(16).toString("hex")) {
  const value = `${id}.${sign(account, id)}`;
  return `device=${value}; Max-Age=7776000; Path=/login; HttpOnly; Secure; SameSite=Lax`;
}
