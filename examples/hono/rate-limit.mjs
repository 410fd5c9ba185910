// Headgate for Hono on Node.

import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
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

/** Without an address: clients of an unknown runtime must not count as one. @type {import("@headgate/core/http").Client} */
const NOT_CONNECTED = { address: undefined, peer: undefined, hasLeft: () => false };

/**
 * Makes the environment of a request that a test sends by `app.request(path, {}, comingFrom("203.0.113.7"))`. Nothing is sent on its
 * response, so `count` judges nothing there.
 */
export function comingFrom(address = "127.0.0.1") {
  const socket = Object.defineProperty(new Socket(), "remoteAddress", { value: address });
  const incoming = new IncomingMessage(socket);
  return { incoming, outgoing: new ServerResponse(incoming) };
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
    // Absent where no server of @hono/node-server called: in a test, app.request() takes them as app.request(path, {}, comingFrom()).
    const { incoming, outgoing } = c.env ?? {};
    const client = incoming ? clientOf(getConnInfo(c).remote.address, incoming) : NOT_CONNECTED;
    const verdict = await guard.check(requestOf(c), client, outgoing);
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

  const { limiter, tiers, ready, close } = guard;
  /** @param {Context} c */
  const of = (c) => guard.of(requestOf(c));
  return Object.assign(limit, { limiter, tiers, of, ready, close });
}
