// A gateway that stops an answer when the key's tokens are gone: docs/how-to/real-cost.md says more.

import { once } from "node:events";
import { createLimiter, fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import type { Store } from "@headgate/express";
import { rateLimit } from "@headgate/express";
import type { Express } from "express";
import express from "express";
import { Redis } from "ioredis";
import { countTokens, customerOf } from "./server.ts";

export function createMeteredApp(store: Store, model: string): Express {
  const app = express();

  const requests = rateLimit({
    name: "requests",
    store,
    limits: fixedWindow({ limit: 60, window: "1m" }),
    key: customerOf,
    missingKey: "reject",
  });

  // #region meter
  const tokens = createLimiter({
    name: "tokens",
    store,
    limits: fixedWindow({ limit: 1_000, window: "1m" }),
  });

  app.post("/answers", express.json(), requests, async (req, res) => {
    const meter = await tokens.meter(`${customerOf(req)}`, { estimate: 100, every: 50 });
    if (!meter.decision.allowed) {
      res.set("retry-after", `${Math.ceil(meter.decision.retryAfterMs / 1_000)}`).sendStatus(429);
      return;
    }
    const gone = new AbortController();
    const leave = () => gone.abort();
    req.socket.once("close", leave);
    const signal = AbortSignal.any([meter.signal, gone.signal]);
    try {
      for await (const part of askModel(model, req.body.prompt, signal)) {
        meter.add(countTokens(part));
        if (!res.write(part)) await once(res, "drain", { signal });
      }
    } catch (error) {
      if (!signal.aborted) throw error;
      if (meter.signal.aborted) res.write("[no tokens left]");
    } finally {
      req.socket.off("close", leave);
      await meter.end();
      res.end();
    }
  });
  // #endregion

  return app;
}

async function* askModel(
  model: string,
  prompt: string,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const body = JSON.stringify({ prompt });
  const answer = await fetch(model, { method: "POST", body, signal });
  if (!answer.ok || answer.body === null) throw new Error(`the model said ${answer.status}`);
  yield* answer.body.pipeThrough(new TextDecoderStream());
}

// Started as a program, not imported by a test.
if (process.argv[1] === import.meta.filename) {
  createMeteredApp(redisStore(new Redis()), "http://localhost:4000").listen(3000);
}
