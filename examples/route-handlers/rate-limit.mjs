// Headgate for handlers of Request and Response, such as Next.js's route handlers.

import { createHttpGuard } from "@headgate/core/http";

/** @typedef {import("@headgate/core/http").Header} Header */

/** The headers of a request so far: each limiter that it passes adds to those before. @type {WeakMap<Request, readonly Header[]>} */
const headersOf = new WeakMap();

/**
 * Creates a function that limits a handler. A `Request` has no address: `addressOf` reads it from where your platform puts it.
 *
 * @param {import("@headgate/core/http").GuardOptions<Request>} options
 * @param {(request: Request) => string | undefined} [addressOf]
 */
export function rateLimit(options, addressOf = () => undefined) {
  const guard = createHttpGuard("rateLimit", options);

  /**
   * @template {readonly unknown[]} Rest
   * @param {(request: Request, ...rest: Rest) => Response | Promise<Response>} handler
   * @returns {(request: Request, ...rest: Rest) => Promise<Response>}
   */
  const limit =
    (handler) =>
    async (request, ...rest) => {
      const isDisconnected = () => request.signal.aborted;
      const client = { address: addressOf(request), peer: undefined, isDisconnected };
      const verdict = await guard.check(request, client);
      if (verdict.kind === "pass") return handler(request, ...rest);
      if (verdict.kind === "disconnected") return new Response(null);
      headersOf.set(request, verdict.headers);
      if (verdict.kind === "allowed") return withHeaders(request, await handler(request, ...rest));
      const { status, contentType, body } = verdict.rejection;
      const headers = { "content-type": contentType };
      return withHeaders(request, new Response(body, { status, headers }));
    };

  const { limiter, tiers, decisionOf, ready, close } = guard;
  return Object.assign(limit, { limiter, tiers, decisionOf, ready, close });
}

/**
 * @param {Request} request
 * @param {Response} response
 */
function withHeaders(request, response) {
  // A copy: the headers of what fetch() and Response.redirect() return cannot be changed.
  const answer = new Response(response.body, response);
  for (const [name, value] of headersOf.get(request) ?? []) {
    if (value === undefined) answer.headers.delete(name);
    else answer.headers.set(name, value);
  }
  return answer;
}
