// An API that writes what is left of its limit as the IETF draft says, as many smaller APIs do.
// https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-10

import { Windows } from "./limits.mjs";
import { credentialOf, startMockApi } from "./mock-api.mjs";

/**
 * Starts it.
 * @param {object} [options]
 * @param {number} [options.limit] Requests of a credential in a window.
 * @param {number} [options.windowMs]
 * @param {number} [options.latencyMs]
 */
export async function startIetf({ limit = 100, windowMs = 60_000, latencyMs } = {}) {
  const windows = new Windows(limit, windowMs);
  const api = await startMockApi(
    (request) => {
      const count = windows.take(credentialOf(request), 1, request.at);
      const seconds = Math.ceil(count.resetMs / 1_000);
      const headers = {
        "ratelimit-policy": `"default";q=${windows.limit};w=${Math.ceil(windows.windowMs / 1_000)}`,
        ratelimit: `"default";r=${count.remaining};t=${seconds}`,
      };
      if (count.isTaken) return { headers, body: { path: request.url.pathname } };
      return {
        status: 429,
        headers: {
          ...headers,
          "retry-after": String(seconds),
          "content-type": "application/problem+json",
        },
        body: {
          type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
          title: "The request exceeds the quota",
          "violated-policies": ["default"],
        },
      };
    },
    { latencyMs },
  );
  return Object.assign(api, { windows });
}
