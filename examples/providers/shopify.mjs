// Shopify's Admin API: REST with a leaky bucket of requests, GraphQL with one of points, for each shop's access token.
// https://shopify.dev/docs/api/admin-rest/usage/rate-limits, https://shopify.dev/docs/api/usage/limits

import { Buckets } from "./limits.mjs";
import { credentialOf, startMockApi } from "./mock-api.mjs";

/**
 * Starts it. The limits are those of the standard plan unless the options say otherwise.
 * @param {object} [options]
 * @param {number} [options.size] Requests in the bucket of REST.
 * @param {number} [options.perSecond]
 * @param {number} [options.points] Points in the bucket of GraphQL.
 * @param {number} [options.restoreRate] Points that come back in a second.
 * @param {number} [options.products] How many products the shop has: a query costs less than requested if it finds fewer.
 * @param {number} [options.latencyMs]
 */
export async function startShopify({
  size = 40,
  perSecond = 2,
  points = 2_000,
  restoreRate = 100,
  products = 10,
  latencyMs,
} = {}) {
  const rest = new Buckets(size, perSecond);
  const graphql = new Buckets(points, restoreRate);
  const api = await startMockApi(
    (request) => {
      if (request.url.pathname.endsWith("/graphql.json")) {
        return answerGraphql(request, graphql, products);
      }
      const count = rest.take(credentialOf(request), 1, request.at);
      const used = Math.ceil(rest.size - count.remaining);
      const headers = { "x-shopify-shop-api-call-limit": `${used}/${rest.size}` };
      if (count.isTaken) return { headers, body: { products: list(products) } };
      return {
        status: 429,
        headers: { ...headers, "retry-after": (Math.ceil(count.waitMs / 100) / 10).toFixed(1) },
        body: {
          errors: `Exceeded ${rest.perSecond} calls per second for api client. Reduce request rates to resume uninterrupted service.`,
        },
      };
    },
    { latencyMs },
  );
  return Object.assign(api, { rest, graphql });
}

/**
 * A query costs 2 points and one for each object of `first: n`; a mutation costs 10.
 * @param {import("./mock-api.mjs").ApiRequest} request @param {Buckets} buckets @param {number} products
 * @returns {import("./mock-api.mjs").ApiAnswer}
 */
function answerGraphql(request, buckets, products) {
  const { query = "", variables = {} } = JSON.parse(request.body || "{}");
  const first = Number(/first:\s*(\d+)/.exec(query)?.[1] ?? variables.first ?? 0);
  const isMutation = /^\s*mutation\b/.test(query);
  const requested = isMutation ? 10 : 2 + first;
  const actual = isMutation ? 10 : 2 + Math.min(first, products);
  const credential = credentialOf(request);
  const taken = buckets.take(credential, requested, request.at);
  const { remaining } = taken.isTaken
    ? buckets.take(credential, actual - requested, request.at)
    : taken;
  const cost = {
    requestedQueryCost: requested,
    actualQueryCost: taken.isTaken ? actual : null,
    throttleStatus: {
      maximumAvailable: buckets.size,
      currentlyAvailable: Math.floor(remaining),
      restoreRate: buckets.perSecond,
    },
  };
  if (!taken.isTaken) {
    const extensions = {
      code: "THROTTLED",
      documentation: "https://shopify.dev/api/usage/rate-limits",
    };
    const errors = [{ message: "Throttled", extensions }];
    return { isLimited: true, body: { errors, extensions: { cost } } };
  }
  const nodes = list(Math.min(first, products));
  return { body: { data: { products: { nodes } }, extensions: { cost } } };
}

/** @param {number} length */
function list(length) {
  return Array.from({ length }, (_, i) => ({ id: i + 1, title: `Anvil ${i + 1}` }));
}
