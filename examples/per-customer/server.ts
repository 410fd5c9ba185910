// A limit for each customer: docs/how-to/plans.md says more.

import { redisStore } from "@headgate/core/redis";
import type { Store } from "@headgate/express";
import { gcra, perRequest, rateLimit } from "@headgate/express";
import type { Express, Request } from "express";
import express from "express";
import { Redis } from "ioredis";

/** Requests an hour, for customers who have no number of their own. */
const DEFAULT = 30;

/** Yours come from a file or a database. */
const CUSTOMERS: ReadonlyMap<string, { readonly id: string; readonly perHour?: number }> = new Map([
  ["ada-key", { id: "ada", perHour: 200 }],
  ["grace-key", { id: "grace" }],
]);

const customerOf = (req: Request) => CUSTOMERS.get(req.get("x-api-key") ?? "");

const hourly = (limit: number) => gcra({ limit, window: "1h", name: "hourly" });

export function createApp(store: Store): Express {
  const app = express();

  app.use(
    rateLimit({
      name: "api",
      store,
      limits: perRequest(hourly(DEFAULT), (req) => hourly(customerOf(req)?.perHour ?? DEFAULT)),
      key: (req) => customerOf(req)?.id,
      // Without a key that you gave out, the address counts.
      missingKey: "ip",
    }),
  );

  app.get("/", (req, res) => {
    res.json({ left: req.rateLimit?.remaining });
  });

  return app;
}

// Started as a program, not imported by a test.
if (process.argv[1] === import.meta.filename) createApp(redisStore(new Redis())).listen(3000);
