// Headgate for Koa.

import { clientOf, createHttpGuard, setHeaders } from "@headgate/core/http";

/** @typedef {import("koa").Context} Context */

/**
 * Creates middleware that limits the requests that reach it.
 *
 * @param {import("@headgate/core/http").GuardOptions<Context>} options
 */
export function rateLimit(options) {
  const guard = createHttpGuard("rateLimit", options, { count: true });

  /**
   * @param {Context} ctx
   * @param {import("koa").Next} next
   */
  async function limit(ctx, next) {
    const verdict = await guard.check(ctx, clientOf(ctx.ip, ctx.req), ctx.res);
    if (verdict.kind === "pass") return next();
    if (verdict.kind === "left" || ctx.headerSent) return;
    setHeaders(ctx.res, verdict.headers);
    if (verdict.kind === "allowed") return next();
    const { status, contentType, body } = verdict.rejection;
    ctx.status = status;
    ctx.type = contentType;
    ctx.body = body;
  }

  const { limiter, tiers, of, ready, close } = guard;
  return Object.assign(limit, { limiter, tiers, of, ready, close });
}
