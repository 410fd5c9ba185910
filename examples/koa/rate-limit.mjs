// Headgate for Koa.

import {
  addHeadersToError,
  clientOf,
  createHttpGuard,
  HeadgateDeniedError,
  setHeaders,
} from "@headgate/core/http";

/** @typedef {import("koa").Context} Context */
/** @typedef {import("@headgate/core/http").Verdict & { kind: "denied" }} Denied */

/**
 * Answers a denied request by `ctx.body`, or throws for the application's error handling.
 *
 * @typedef {(ctx: Context, decision: import("@headgate/core").Decision) => unknown} OnDenied
 */

/**
 * Creates middleware that limits the requests that reach it.
 *
 * @param {import("@headgate/core/http").GuardOptions<Context> & { onDenied?: OnDenied | "error" }} options
 */
export function rateLimit(options) {
  const guard = createHttpGuard("rateLimit", options, {
    passesResponse: true,
    callsOnDenied: true,
  });
  const { onDenied } = options;

  /**
   * @param {Context} ctx
   * @param {import("koa").Next} next
   */
  async function limit(ctx, next) {
    const verdict = await guard.check(ctx, clientOf(ctx.ip, ctx.req), ctx.res);
    if (verdict.kind === "pass") return next();
    if (verdict.kind === "disconnected" || ctx.headerSent) return;
    setHeaders(ctx.res, verdict.headers);
    if (verdict.kind === "allowed") return next();
    const { status, contentType, body } = verdict.rejection;
    ctx.status = status;
    if (verdict.kind === "denied" && onDenied !== undefined) {
      await deny(onDenied, ctx, verdict);
      if (ctx.body !== undefined || ctx.respond === false || ctx.headerSent) return;
      ctx.status = status;
    }
    ctx.type = contentType;
    ctx.body = body;
  }

  const { limiter, tiers, decisionOf, ready, close } = guard;
  return Object.assign(limit, { limiter, tiers, decisionOf, ready, close });
}

/**
 * @param {OnDenied | "error"} onDenied
 * @param {Context} ctx
 * @param {Denied} verdict
 */
async function deny(onDenied, ctx, { decision, headers, recordOutcome }) {
  recordOutcome?.(false);
  try {
    if (onDenied === "error") throw new HeadgateDeniedError(decision);
    await onDenied(ctx, decision);
  } catch (error) {
    // When Koa answers an error, it drops the headers of the response and sends those of the error.
    throw addHeadersToError(error, headers);
  }
}
