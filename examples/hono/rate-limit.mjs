// Headgate for Hono on Node.

import { clientOf, createHttpGuard } from "@headgate/core/http";
import { getConnInfo } from "@hono/node-server/conninfo";

/** @typedef {import("hono").Context<{ Bindings: import("@hono/node-server").HttpBindings }>} Context */
/** @typedef {{ readonly context: Context, readonly headers: Headers }} HonoRequest */

/** All limiters that a request passes share one object for it. @type {WeakMap<Context, HonoRequest>} */
const requests = new WeakMap();

/** @param {Context} context */
function requestOf(context) {
  const request = requests.get(context) ?? { context, headers: context.req.raw.headers };
  requests.set(context, request);
  return request;
}

/**
 * Creates middleware that limits the requests that reach it.
 *
 * @param {import("@headgate/core/http").GuardOptions<HonoRequest>} options
 */
export function rateLimit(options) {
  const guard = createHttpGuard("rateLimit", options, { count: true });

  /**
   * @param {Context} c
   * @param {import("hono").Next} next
   * @returns {Promise<Response | void>}
   */
  async function limit(c, next) {
    const client = clientOf(getConnInfo(c).remote.address, c.env.incoming);
    const verdict = await guard.check(requestOf(c), client, c.env.outgoing);
    if (verdict.kind === "pass") return next();
    if (verdict.kind === "left") return c.body(null);
    for (const [name, value, added] of verdict.headers) {
      if (value === undefined) c.res.headers.delete(name);
      else if (added) c.res.headers.append(name, value);
      else c.res.headers.set(name, value);
    }
    if (verdict.kind === "allowed") return next();
    const { status, contentType, body } = verdict.rejection;
    // Not a Response of its own: where no route follows, Hono would not put those headers on it.
    return c.body(body, /** @type {429} */ (status), { "content-type": contentType });
  }

  const { limiter, tiers, close } = guard;
  /** @param {Context} c */
  const of = (c) => guard.of(requestOf(c));
  return Object.assign(limit, { limiter, tiers, of, close });
}
