// Headgate for plain node:http. docs/how-to/adapters.md explains it line by line.

import { clientOf, createHttpGuard, sendRejection, setHeaders } from "@headgate/core/http";

/** @typedef {import("node:http").IncomingMessage} IncomingMessage */

/**
 * Makes a function that limits the requests it is given. It resolves with whether a request goes on; where it does not, it has been
 * answered.
 *
 * @param {import("@headgate/core/http").GuardOptions<IncomingMessage>} options
 */
export function rateLimit(options) {
  const guard = createHttpGuard("rateLimit", options, { passesResponse: true });

  /**
   * @param {IncomingMessage} req
   * @param {import("node:http").ServerResponse} res
   */
  async function limit(req, res) {
    const client = clientOf(req.socket.remoteAddress, req);
    const verdict = await guard.check(req, client, res);
    if (verdict.kind === "pass") return true;
    if (verdict.kind === "disconnected" || res.headersSent) return false;
    setHeaders(res, verdict.headers);
    if (verdict.kind === "allowed") return true;
    sendRejection(res, verdict.rejection);
    return false;
  }

  const { limiter, tiers, decisionOf, ready, close } = guard;
  return Object.assign(limit, { limiter, tiers, decisionOf, ready, close });
}
