// Two exports at a time for each tenant.

import { setTimeout as delay } from "node:timers/promises";
import { redisStore } from "@headgate/core/redis";
import type { Store } from "@headgate/express";
import { concurrency, rateLimit } from "@headgate/express";
import type { Express } from "express";
import express from "express";
import { Redis } from "ioredis";

/** Stands for your query: ten rows a second, until the signal aborts. */
async function* readRows(count: number, signal?: AbortSignal): AsyncGenerator<string> {
  for (let row = 0; row < count; row += 1) {
    await delay(100, undefined, signal && { signal });
    yield `${row},${row * row}\n`;
  }
}

export function createApp(store: Store): Express {
  const app = express();

  const twoAtATime = rateLimit({
    name: "exports",
    store,
    limits: concurrency({ limit: 2, ttl: "30s" }),
    // Yours comes from a session or a token that you have checked.
    key: (req) => req.get("x-tenant"),
    missingKey: "reject",
  });

  app.get("/export", twoAtATime, async (req, res) => {
    const signal = twoAtATime.decisionOf(req)?.decision.signal;
    res.type("text/csv");
    try {
      for await (const row of readRows(Number(req.query["rows"]), signal)) res.write(row);
    } catch (error) {
      // Aborted: the client has disconnected.
      if (!signal?.aborted) throw error;
    } finally {
      // Frees the slot, also after a disconnect.
      res.end();
    }
  });

  return app;
}

// Started as a program, not imported by a test.
if (process.argv[1] === import.meta.filename) createApp(redisStore(new Redis())).listen(3000);
