// Plans: the free plan gets 100 requests in any 60 seconds, the premium plan 1,000.
// Requests without a valid key count by address: making up keys gains nothing.
//
//   npx -y pnpm@10.34.9 build
//   node examples/plans-by-api-key/server.mjs
//   curl -i -H "x-api-key: ada-premium" http://localhost:3000/

import headgate, { byHeader, byTier, slidingLog } from "@headgate/fastify";
import Fastify from "fastify";

/**
 * Yours would be in a database.
 *
 * @type {ReadonlyMap<string, "free" | "premium">}
 */
const PLANS = new Map([
  ["grace-free", "free"],
  ["ada-premium", "premium"],
]);

/** @param {import("fastify").FastifyRequest} request */
const planOf = (request) => PLANS.get(String(request.headers["x-api-key"]));

const byApiKey = byHeader("x-api-key");

const app = Fastify();

app.register(headgate, {
  name: "api",
  limits: byTier(
    {
      free: slidingLog({ limit: 100, window: "60s" }),
      premium: slidingLog({ limit: 1_000, window: "60s" }),
    },
    (/** @type {import("fastify").FastifyRequest} */ request) => planOf(request) ?? "free",
  ),
  // No key, no subject: then the address counts (`missingKey: "ip"`, the default).
  key: (request, address) => (planOf(request) ? byApiKey(request, address) : undefined),
});

app.get("/", async (request) => ({ plan: planOf(request) ?? "free" }));

console.log(`listening on ${await app.listen({ port: Number(process.env["PORT"] ?? 3000) })}`);
