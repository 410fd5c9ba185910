// A quota by the calendar month: counted by the API, shown on a usage page, and raised by an upgrade.

import type { Store } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { fixedWindow, perRequest, rateLimit } from "@headgate/express";
import type { Express, Request } from "express";
import express from "express";
import { Redis } from "ioredis";

const TIME_ZONE = "Europe/Berlin";

/** Requests a month. */
const PLANS = { free: 100, team: 10_000 };

interface Customer {
  readonly id: string;
  readonly plan: keyof typeof PLANS;
}

/** Your database: finds a customer by the API key, which it checks. */
export type FindCustomer = (key: string | undefined) => Promise<Customer | undefined>;

const monthly = (limit: number) =>
  fixedWindow({ limit, window: "month", timeZone: TIME_ZONE, name: "month" });

/** `now` is the time in milliseconds since the epoch. */
export function createApp(store: Store, find: FindCustomer, now: () => number): Express {
  const app = express();
  const customers = new WeakMap<Request, Customer>();
  const customerOf = (req: Request) => customers.get(req) as Customer;

  app.use(async (req, res, next) => {
    const customer = await find(req.get("x-api-key"));
    if (customer === undefined) {
      res.status(401).json({ error: "unknown API key" });
      return;
    }
    customers.set(req, customer);
    next();
  });

  // #region quota
  const quota = rateLimit({
    name: "quota",
    store,
    limits: perRequest(monthly(PLANS.free), (req) => monthly(PLANS[customerOf(req).plan])),
    key: (req) => customerOf(req).id,
  });

  // In front of the quota: looking costs nothing, and works when nothing is left.
  app.get("/usage", async (req, res) => {
    const { id, plan } = customerOf(req);
    const { limits } = await quota.limiter.peek(id, { cost: 0, limits: monthly(PLANS[plan]) });
    const [month] = limits;
    if (month === undefined) {
      res.status(503).json({ error: "not known now" });
      return;
    }
    const used = month.limit - month.remaining + month.overdrawn;
    // Until the first use a window has no end to report.
    const resets = used === 0 ? undefined : new Date(now() + month.resetAfterMs).toISOString();
    res.json({ plan, limit: month.limit, used, remaining: month.remaining, resets });
  });
  // #endregion

  app.use(quota);

  app.get("/search", (req, res) => {
    res.json({ left: req.rateLimit?.remaining });
  });

  return app;
}

// Started as a program, not imported by a test.
if (process.argv[1] === import.meta.filename) {
  const plans = new Map<string | undefined, Customer>([["ada-key", { id: "ada", plan: "free" }]]);
  const find: FindCustomer = async (key) => plans.get(key);
  createApp(redisStore(new Redis()), find, Date.now).listen(3000);
}
