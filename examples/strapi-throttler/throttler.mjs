// The limit of the authentication routes of a CMS like Strapi, on Koa: five attempts in five minutes for each account, path and
// address together. A denial is answered as Strapi answers errors.

import { fixedWindow } from "@headgate/core";
import {
  byIp,
  clientOf,
  combineKeys,
  createHttpGuard,
  sendRejection,
  setHeaders,
} from "@headgate/core/http";

/** @typedef {import("koa").Context} Context */

/**
 * The account that a request is about, as it was parsed before. Otherwise an attacker would write one address in many ways.
 *
 * @param {Context} ctx
 */
function accountOf(ctx) {
  const { email, identifier } = ctx.state["body"] ?? {};
  const account = email ?? identifier;
  return typeof account === "string" ? account.trim().toLowerCase() : "unknown";
}

/** @param {Pick<import("@headgate/core/http").GuardOptions<Context>, "name" | "store">} options */
export function throttleAuthentication(options = {}) {
  const guard = createHttpGuard("throttleAuthentication", {
    limits: fixedWindow({ limit: 5, window: "5m", name: "auth" }),
    key: combineKeys(accountOf, (/** @type {Context} */ ctx) => ctx.path, byIp()),
    ...options,
  });

  /**
   * @param {Context} ctx
   * @param {import("koa").Next} next
   */
  async function throttle(ctx, next) {
    const verdict = await guard.check(ctx, clientOf(ctx.ip, ctx.req));
    if (verdict.kind === "pass") return next();
    if (verdict.kind === "disconnected" || ctx.headerSent) return;
    setHeaders(ctx.res, verdict.headers);
    if (verdict.kind === "allowed") return next();
    if (verdict.kind === "refused") return sendRejection(ctx.res, verdict.rejection);
    const { status } = verdict.rejection;
    ctx.status = status;
    ctx.body = {
      data: null,
      error: {
        status,
        name: "RateLimitError",
        message: "Too many requests, please try again later.",
        details: { retryAfterMs: verdict.decision.retryAfterMs },
      },
    };
  }

  const { limiter, ready, close } = guard;
  return Object.assign(throttle, { limiter, ready, close });
}
