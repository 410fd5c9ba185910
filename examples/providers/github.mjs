// GitHub's REST API, with its primary limit for each credential and its secondary limits.
// https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api

import { Windows } from "./limits.mjs";
import { credentialOf, startMockApi } from "./mock-api.mjs";

const DOCS =
  "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits";

/** The pages of each list. */
const PAGES = 3;

/**
 * Starts it. The limits are GitHub's own unless the options say otherwise.
 * @param {object} [options]
 * @param {number} [options.limit] Requests of a credential in a window.
 * @param {number} [options.windowMs]
 * @param {number} [options.searchLimit] Requests to `/search`, which count for a minute of their own.
 * @param {number} [options.concurrent] The most requests at once: a secondary limit.
 * @param {number} [options.points] Points in a minute, 1 for a GET and 5 for a change: a secondary limit.
 * @param {number} [options.secondaryWindowMs]
 * @param {boolean} [options.givesRetryAfter] Whether refusals by a secondary limit have `Retry-After`. Some have not.
 * @param {number} [options.latencyMs]
 */
export async function startGitHub({
  limit = 5_000,
  windowMs = 3_600_000,
  searchLimit = 30,
  concurrent = 100,
  points = 900,
  secondaryWindowMs = 60_000,
  givesRetryAfter = true,
  latencyMs,
} = {}) {
  const core = new Windows(limit, windowMs);
  const search = new Windows(searchLimit, 60_000);
  const secondary = new Windows(points, secondaryWindowMs);
  let id = 0;

  const api = await startMockApi(
    (request) => {
      const { method, url, inFlight, at } = request;
      const credential = credentialOf(request);
      const resource = url.pathname.startsWith("/search/") ? "search" : "core";
      const windows = resource === "search" ? search : core;
      id += 1;
      const pointsNeeded = ["GET", "HEAD", "OPTIONS"].includes(method) ? 1 : 5;
      const spent = secondary.take(credential, pointsNeeded, at);
      const isFree = url.pathname === "/rate_limit";
      const isSecondary = !spent.isTaken || inFlight > concurrent;
      const count = windows.take(credential, isFree || isSecondary ? 0 : 1, at);
      const headers = {
        "x-github-request-id": `MOCK:${id.toString(16).toUpperCase()}`,
        "x-ratelimit-limit": String(windows.limit),
        "x-ratelimit-remaining": String(count.remaining),
        "x-ratelimit-used": String(windows.limit - count.remaining),
        "x-ratelimit-reset": String(Math.ceil((at + count.resetMs) / 1_000)),
        "x-ratelimit-resource": resource,
      };
      if (isSecondary) {
        const seconds = Math.ceil((spent.isTaken ? 1_000 : spent.waitMs) / 1_000);
        return {
          status: 403,
          headers: { ...headers, ...(givesRetryAfter && { "retry-after": String(seconds) }) },
          body: {
            message:
              "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
            documentation_url: DOCS,
          },
        };
      }
      if (!count.isTaken) {
        return {
          status: 403,
          headers,
          body: { message: `API rate limit exceeded for ${credential}.`, documentation_url: DOCS },
        };
      }
      return answerTo(request, headers, count.remaining);
    },
    { latencyMs },
  );
  return Object.assign(api, { core, search, secondary });
}

/**
 * @param {import("./mock-api.mjs").ApiRequest} request @param {Record<string, string>} headers @param {number} remaining
 * @returns {import("./mock-api.mjs").ApiAnswer}
 */
function answerTo({ method, url }, headers, remaining) {
  const { pathname } = url;
  if (pathname === "/rate_limit") return { headers, body: { rate: { remaining } } };
  const [, owner, name, list] = /^\/repos\/([^/]+)\/([^/]+)(\/\w+)?$/.exec(pathname) ?? [];
  if (list !== undefined && method === "GET") {
    const page = Number(url.searchParams.get("page") ?? 1);
    const size = Number(url.searchParams.get("per_page") ?? 30);
    const next = new URL(url);
    next.searchParams.set("page", String(page + 1));
    const link = page < PAGES ? { link: `<${next}>; rel="next"` } : {};
    const body = Array.from({ length: size }, (_, i) => ({ number: (page - 1) * size + i + 1 }));
    return { headers: { ...headers, ...link }, body };
  }
  if (owner !== undefined) {
    const status = method === "GET" ? 200 : 201;
    return { status, headers, body: { full_name: `${owner}/${name}`, stargazers_count: 3 } };
  }
  return { headers, body: { path: pathname } };
}
