// Plans from a database: each customer has a plan, and some have their own limit. A customer that changes the plan keeps the count: an
// upgrade in the middle of an hour gives what it adds, and flipping between plans gains nothing.
//
//   npx -y pnpm@10.34.9 build
//   node examples/plans-from-a-database/server.mjs        (with REDIS_URL=redis://... all processes count together)
//   curl -i -H "x-api-key: ada-key" http://localhost:3000/
//   curl -i -X PUT http://localhost:3000/customers/ada-key/plan/pro

import { redisStore } from "@headgate/core/redis";
import headgate, { perRequest, slidingLog } from "@headgate/fastify";
import Fastify from "fastify";
import { Redis } from "ioredis";

/** Requests in any hour; null is not limited. Yours would be in a database, like the customers. */
const PLANS = new Map([
  ["free", 30],
  ["pro", 1_000],
  ["internal", null],
]);

/** @typedef {{ readonly id: string, plan: string, readonly override?: number }} Customer */

/** @type {ReadonlyMap<string, Customer>} */
const CUSTOMERS = new Map([
  ["ada-key", { id: "ada", plan: "free" }],
  ["grace-key", { id: "grace", plan: "free", override: 50 }],
  ["robot-key", { id: "robot", plan: "internal" }],
]);

/**
 * The customer of a request, looked up once: the limits and the key both ask for it.
 *
 * @type {WeakMap<object, Promise<Customer>>}
 */
const known = new WeakMap();

/** @param {import("fastify").FastifyRequest} request */
function customerOf(request) {
  const customer = known.get(request) ?? findCustomer(String(request.headers["x-api-key"]));
  known.set(request, customer);
  return customer;
}

/** @param {string} key */
async function findCustomer(key) {
  const customer = CUSTOMERS.get(key);
  if (customer === undefined) throw Object.assign(new Error("no such key"), { statusCode: 401 });
  return customer;
}

/** @param {number} limit */
const hourly = (limit) => slidingLog({ limit, window: "1h", name: "plan" });

const redisUrl = process.env["REDIS_URL"];
const redis = redisUrl === undefined ? undefined : new Redis(redisUrl);
redis?.on("error", console.error);

const app = Fastify();

app.register(headgate, {
  name: "api",
  store: redis && redisStore(redis, { prefix: process.env["PREFIX"] ?? "hg-example" }),
  limits: perRequest(hourly(30), async (request) => {
    const { plan, override } = await customerOf(request);
    const limit = override ?? PLANS.get(plan);
    // An undefined limit is an error as well, never an unlimited request.
    return limit === null ? null : hourly(/** @type {number} */ (limit));
  }),
  key: async (request) => (await customerOf(request)).id,
});

app.get("/", async (request) => ({ left: request.rateLimit?.remaining ?? "any number" }));

/** @typedef {{ Params: { key: string, plan: string } }} PlanChange */

app.put("/customers/:key/plan/:plan", { config: { rateLimit: false } }, async (request) => {
  const { key, plan } = /** @type {PlanChange["Params"]} */ (request.params);
  const customer = await findCustomer(key);
  customer.plan = plan;
  return customer;
});

console.log(`listening on ${await app.listen({ port: Number(process.env["PORT"] ?? 3000) })}`);
