// Monthly budgets of an organisation, its teams and their keys, with alerts: docs/recipes/monthly-quota.md says more.

import { subscribe } from "node:diagnostics_channel";
import type { Store, ThresholdReached } from "@headgate/core";
import { CHANNELS } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { fixedWindow, perRequest, rateLimit } from "@headgate/express";
import type { Express, Request } from "express";
import express from "express";
import { Redis } from "ioredis";

/** Pages a month. */
interface Budgets {
  readonly organisation: number;
  readonly team: number;
  readonly key: number;
}

/** Whose key it is. Ids of teams and keys must differ between organisations. */
export interface Holder {
  readonly organisation: string;
  readonly team: string;
  readonly key: string;
  readonly budgets: Budgets;
}

/** Your database: finds the holder of an API key, which it checks. */
export type FindHolder = (key: string | undefined) => Promise<Holder | undefined>;

/** The recipient of a notification at this share of a budget. */
export interface Alert {
  readonly budget: string;
  readonly of: string;
  readonly share: number;
}

const budgetOf = (per: keyof Budgets, limit: number) =>
  fixedWindow({ limit, window: "month", per, name: per, notifyAt: [0.8, 1] });

const monthly = ({ organisation, team, key }: Budgets) => [
  budgetOf("organisation", organisation),
  budgetOf("team", team),
  budgetOf("key", key),
];

/** Notifies the owner of each budget, once at 80 % and once when it is used up. */
export function alertOwners(tell: (alert: Alert) => void): void {
  subscribe(CHANNELS.threshold, (message) => {
    const { limiter, name, per, subject, threshold } = message as ThresholdReached;
    if (limiter === "budgets") tell({ budget: name, of: subject[per] ?? "", share: threshold });
  });
}

export function createApp(store: Store, find: FindHolder): Express {
  const app = express();
  const holders = new WeakMap<Request, Holder>();
  const holderOf = (req: Request) => holders.get(req) as Holder;
  const pagesOf = (req: Request) => Number(req.query["pages"] ?? 1);

  app.use(async (req, res, next) => {
    const holder = await find(req.get("x-api-key"));
    const pages = pagesOf(req);
    if (holder === undefined) {
      res.status(401).json({ error: "unknown API key" });
    } else if (!Number.isInteger(pages) || pages < 1 || pages > 100) {
      res.status(400).json({ error: "pages must be a number from 1 to 100" });
    } else {
      holders.set(req, holder);
      next();
    }
  });

  const budgets = rateLimit({
    name: "budgets",
    store,
    limits: perRequest(monthly({ organisation: 1_000, team: 500, key: 100 }), (req) =>
      monthly(holderOf(req).budgets),
    ),
    key: {
      organisation: (req) => holderOf(req).organisation,
      team: (req) => holderOf(req).team,
      key: (req) => holderOf(req).key,
    },
    cost: pagesOf,
  });

  app.use(budgets);

  app.post("/render", (req, res) => {
    const left = req.rateLimit?.limits.map(({ name, remaining }) => [name, remaining]) ?? [];
    res.json({ rendered: pagesOf(req), left: Object.fromEntries(left) });
  });

  return app;
}

// Started as a program, not imported by a test.
if (process.argv[1] === import.meta.filename) {
  const budgets = { organisation: 1_000, team: 500, key: 100 };
  const ada = { organisation: "acme", team: "acme/press", key: "acme/press/ada", budgets };
  const holders = new Map<string | undefined, Holder>([["ada-key", ada]]);
  const find: FindHolder = async (key) => holders.get(key);
  alertOwners(console.log);
  createApp(redisStore(new Redis()), find).listen(3000);
}
