// Shopify's client at the pace of a limiter: each shop has a bucket of points. A query is charged the points that it may cost, and
// settled at those that it did cost, as Shopify does it.
//
//   npx -y pnpm@10.34.9 build
//   node examples/shopify/main.mjs

import { createLimiter, tokenBucket } from "@headgate/core";
import { limitFetch } from "@headgate/fetch";
import { createAdminApiClient } from "@shopify/admin-api-client";
import { startShopify } from "../providers/shopify.mjs";

const api = await startShopify({ points: 200, restoreRate: 100 });
const shop = "https://tea.myshopify.com";

// With a store on Redis, all your processes share it.
const limiter = createLimiter({
  name: "shopify",
  limits: tokenBucket({ name: "points", capacity: 200, refill: 100, every: "1s" }),
});

const customFetchApi = limitFetch({
  limiter,
  key: ({ url }) => url.hostname,
  cost: 22,
  async settle(response) {
    const { extensions } = /** @type {any} */ (await response.clone().json());
    return extensions.cost.actualQueryCost ?? 0;
  },
  // The client only takes the address of a shop. Leave this out to call the real one.
  fetch: (url, init) => fetch(String(url).replace(shop, api.url), init),
});

const client = createAdminApiClient({
  storeDomain: shop,
  apiVersion: "2026-10",
  accessToken: "secret",
  customFetchApi,
});

const query = "query { products(first: 20) { nodes { title } } }";
const results = await Promise.all(Array.from({ length: 30 }, () => client.request(query)));
const read = results.filter(({ data }) => data?.products.nodes.length === 10).length;
console.log(`${read} queries answered, ${api.arrivals.length - read} throttled`);
await limiter.close();
await api.stop();
