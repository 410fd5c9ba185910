// The HTTP server behind the mock providers of this folder. They keep real limits over time, and answer with the headers, statuses and
// bodies that the provider documents; examples, tests and the comparison with other tools call them instead of the provider.
//
//   const api = await startGitHub({ limit: 100, windowMs: 5_000 });
//   await fetch(`${api.url}/repos/acme/anvil`);
//   api.arrivals;                                       // the requests, and the status that each was answered with
//   api.intercept = () => ({ status: 503 });            // instead of the provider's answer
//   api.intercept = (_, answer) => ({ ...answer(), headers: { "x-ratelimit-remaining": "lots" } });
//   await api.stop(); await api.start();                // connections are refused in between
//   await api.stop();

import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";

/**
 * @typedef {object} ApiRequest
 * @property {string} method
 * @property {URL} url
 * @property {import("node:http").IncomingHttpHeaders} headers
 * @property {string} body
 * @property {number} inFlight How many requests are being answered, with this one.
 * @property {number} at When it was decided, in milliseconds since the Unix epoch, by a clock that never goes back.
 */

/**
 * @typedef {object} ApiAnswer
 * @property {number} [status] Default 200.
 * @property {Readonly<Record<string, string>>} [headers]
 * @property {unknown} [body] Sent as JSON, or as it is if it is a string.
 * @property {boolean} [isLimited] Whether the request was refused, where the status does not say it. Default: from 400 on.
 * @property {readonly string[]} [chunks] The parts of the body of a stream, sent instead of `body`, `latencyMs` apart.
 */

/** @typedef {ApiRequest & { status: number, isLimited: boolean }} Arrival A request, the status of its answer, and whether it was refused. */

/**
 * @typedef {object} MockApi
 * @property {string} url
 * @property {Arrival[]} arrivals The requests in the order in which they were decided.
 * @property {number} latencyMs How long an answer takes, in milliseconds.
 * @property {((request: ApiRequest, answer: () => ApiAnswer) => ApiAnswer) | undefined} intercept Answers instead of the provider;
 *   only `answer()` counts the request against the provider's limits.
 * @property {() => Promise<void>} stop Ends all connections and refuses new ones.
 * @property {() => Promise<void>} start Takes connections again, on the same port.
 */

/** Milliseconds since the Unix epoch, by a clock that never goes back. */
export const now = () => performance.timeOrigin + performance.now();

/**
 * Starts an API that answers with what a function returns.
 * @param {(request: ApiRequest) => ApiAnswer} answer @param {{ latencyMs?: number | undefined }} [options]
 * @returns {Promise<MockApi>}
 */
export async function startMockApi(answer, { latencyMs = 0 } = {}) {
  let inFlight = 0;
  let port = 0;
  const server = createServer((message, response) => {
    inFlight += 1;
    response.once("close", () => {
      inFlight -= 1;
    });
    void respond(message, response).catch(() => response.destroy());
  });

  /** @param {import("node:http").IncomingMessage} message @param {import("node:http").ServerResponse} response */
  async function respond(message, response) {
    const body = await text(message);
    const { method = "GET", url = "/", headers } = message;
    const request = { method, url: new URL(url, api.url), headers, body, inFlight, at: now() };
    const given = api.intercept?.(request, () => answer(request)) ?? answer(request);
    const { status = 200, isLimited = status >= 400 } = given;
    api.arrivals.push({ ...request, status, isLimited });
    if (api.latencyMs > 0) await delay(api.latencyMs);
    if (given.chunks !== undefined) return await stream(response, given);
    const isText = typeof given.body === "string" || given.body === undefined;
    response.writeHead(status, {
      "content-type": isText ? "text/plain" : "application/json; charset=utf-8",
      ...given.headers,
    });
    response.end(isText ? given.body : JSON.stringify(given.body));
  }

  /** @param {import("node:http").ServerResponse} response @param {ApiAnswer} answer */
  async function stream(response, { status = 200, headers, chunks = [] }) {
    response.writeHead(status, { "content-type": "text/event-stream", ...headers });
    for (const chunk of chunks) {
      if (response.destroyed) return;
      response.write(chunk);
      await delay(api.latencyMs);
    }
    response.end();
  }

  async function start() {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    ({ port } = /** @type {import("node:net").AddressInfo} */ (server.address()));
  }

  async function stop() {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }

  await start();
  /** @type {MockApi} */
  const api = {
    url: `http://127.0.0.1:${port}`,
    arrivals: [],
    latencyMs,
    intercept: undefined,
    stop,
    start,
  };
  return api;
}

/**
 * The credential that a request is counted for, "" without one.
 * @param {ApiRequest} request
 */
export function credentialOf({ headers }) {
  const own = headers["x-shopify-access-token"] ?? headers.authorization ?? "";
  return String(own).replace(/^(?:bearer|token) /i, "");
}
