// The throttler of Cal.com's API: an operator gives each API key rows with a limit, a window and how long the key is blocked
// after it. All rows of a key must allow a request; a key without rows has the default.
//
//   npx -y pnpm@10.34.9 build
//   node examples/calcom-throttler/server.mjs
//   curl -i -H "authorization: Bearer ada-key" http://localhost:3000/

import headgate, { byHeader, fixedWindow, perRequest } from "@headgate/fastify";
import Fastify from "fastify";

/**
 * A row of the table `RateLimit`.
 *
 * @typedef {object} Row
 * @property {string} name
 * @property {number} limit
 * @property {number} ttl milliseconds
 * @property {number} blockDuration milliseconds; 0 for no block
 */

/**
 * Yours would be in a database.
 *
 * @type {ReadonlyMap<string, readonly Row[]>}
 */
const ROWS = new Map([
  [
    "ada-key",
    [
      { name: "burst", limit: 3, ttl: 1_000, blockDuration: 0 },
      { name: "daily", limit: 5, ttl: 86_400_000, blockDuration: 1_800_000 },
    ],
  ],
  ["grace-key", [{ name: "default", limit: 2, ttl: 60_000, blockDuration: 3_600_000 }]],
]);

const DEFAULT = fixedWindow({ limit: 120, window: "60s", name: "default" });

/** @param {Row} row */
function limitOf({ name, limit, ttl, blockDuration }) {
  const block = blockDuration > 0 ? { block: blockDuration } : {};
  return fixedWindow({ limit, window: ttl, name, ...block });
}

/** @param {import("fastify").FastifyRequest} request */
const apiKeyOf = ({ headers }) => headers.authorization?.replace(/^Bearer /, "");

const app = Fastify();

app.register(headgate, {
  name: "api",
  limits: perRequest(DEFAULT, async (/** @type {import("fastify").FastifyRequest} */ request) => {
    const rows = ROWS.get(apiKeyOf(request) ?? "");
    // Rows of another shape than the default have a counter of their own. They come from the database, never from the client.
    return rows === undefined ? DEFAULT : rows.map(limitOf);
  }),
  // Keys that were made up count by their address.
  key: (request, address) =>
    ROWS.has(apiKeyOf(request) ?? "") ? byHeader("authorization")(request, address) : undefined,
});

app.get("/", async (request) => ({ left: request.rateLimit?.remaining }));

console.log(`listening on ${await app.listen({ port: Number(process.env["PORT"] ?? 3000) })}`);
