// An application that can be tested: it is given its store, and hands out its limiter.

import type { Limiter, Store } from "@headgate/core";
import { gcra, rateLimit } from "@headgate/express";
import type { Express } from "express";
import express from "express";

export interface Application {
  readonly app: Express;
  readonly limiter: Limiter;
}

export function createApp(store: Store): Application {
  const app = express();
  const limit = rateLimit({ name: "api", store, limits: gcra({ limit: 100, window: "1m" }) });
  app.use(limit);

  app.get("/", (req, res) => {
    res.json({ left: req.rateLimit?.remaining, degraded: req.rateLimit?.degraded });
  });

  return { app, limiter: limit.limiter };
}
