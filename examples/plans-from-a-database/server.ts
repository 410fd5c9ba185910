// Plans from a database: docs/how-to/plans.md says more.

import { redisStore } from "@headgate/core/redis";
import type { Store } from "@headgate/fastify";
import headgate, { perRequest, slidingLog } from "@headgate/fastify";
import type { FastifyInstance, FastifyRequest } from "fastify";
import Fastify from "fastify";
import { Redis } from "ioredis";

interface Customer {
  readonly id: string;
  plan: string;
  /** Requests an hour, in place of the plan's. */
  readonly agreed?: number;
}

/** Requests an hour; null is not limited. Yours are in a database, like the customers. */
const PLANS = new Map([
  ["free", 30],
  ["pro", 1_000],
  ["internal", null],
]);

const CUSTOMERS: ReadonlyMap<string, Customer> = new Map([
  ["ada-key", { id: "ada", plan: "free" }],
  ["grace-key", { id: "grace", plan: "free", agreed: 50 }],
  ["robot-key", { id: "robot", plan: "internal" }],
]);

async function findCustomer(apiKey: string): Promise<Customer> {
  const customer = CUSTOMERS.get(apiKey);
  if (customer === undefined) throw Object.assign(new Error("no such key"), { statusCode: 401 });
  return customer;
}

/** The limits and the key both ask for the customer: one query for each request. */
const found = new WeakMap<FastifyRequest, Promise<Customer>>();

function customerOf(request: FastifyRequest): Promise<Customer> {
  const customer = found.get(request) ?? findCustomer(String(request.headers["x-api-key"]));
  found.set(request, customer);
  return customer;
}

const hourly = (limit: number) => slidingLog({ limit, window: "1h", name: "plan" });

export function createApp(store: Store): FastifyInstance {
  const app = Fastify();

  app.register(headgate, {
    name: "api",
    store,
    limits: perRequest(hourly(30), async (request) => {
      const { plan, agreed } = await customerOf(request);
      const limit = agreed ?? PLANS.get(plan);
      if (limit === undefined) throw new Error(`no such plan: ${plan}`);
      return limit === null ? null : hourly(limit);
    }),
    key: async (request) => (await customerOf(request)).id,
  });

  app.get("/", async (request) => ({ left: request.rateLimit?.remaining ?? "any number" }));

  // An admin page of yours: no limit, and a login of its own.
  const admin = { config: { rateLimit: false } } as const;
  app.put<{ Params: { key: string; plan: string } }>(
    "/customers/:key/plan/:plan",
    admin,
    async ({ params }) => {
      const customer = await findCustomer(params.key);
      customer.plan = params.plan;
      return customer;
    },
  );

  return app;
}

// Started as a program, not imported by a test.
if (process.argv[1] === import.meta.filename) {
  await createApp(redisStore(new Redis())).listen({ port: 3000 });
}
