// A gateway to a language model: docs/how-to/real-cost.md says more.

import { once } from "node:events";
import { redisStore } from "@headgate/core/redis";
import type { Store } from "@headgate/express";
import { fixedWindow, rateLimit } from "@headgate/express";
import type { Express, Request } from "express";
import express from "express";
import { Redis } from "ioredis";

/** What most answers take, in tokens. */
const TYPICAL_ANSWER = 100;

/** The customer of each API key. Yours are in a database. */
const CUSTOMERS: ReadonlyMap<string, string> = new Map([
  ["ada-key", "ada"],
  ["grace-key", "grace"],
  ["linus-key", "linus"],
]);

export const customerOf = (req: Request) => CUSTOMERS.get(req.get("x-api-key") ?? "");

/** Here a token is a word and the space behind it. Yours: the model's tokenizer, or the usage that its answer reports. */
export const countTokens = (text: string) => text.split(" ").length - 1;

const promptTokens = (req: Request) => countTokens(`${req.body?.prompt} `);

export function createApp(store: Store, model: string): Express {
  const app = express();

  const limit = rateLimit({
    name: "gateway",
    store,
    limits: [
      fixedWindow({ limit: 5, window: "1m", name: "requests" }),
      fixedWindow({ limit: 1_000, window: "1m", name: "tokens" }),
    ],
    key: customerOf,
    missingKey: "reject",
    // An estimate; the real cost is settled at the end of the response.
    cost: (req) => ({ requests: 1, tokens: promptTokens(req) + TYPICAL_ANSWER }),
  });

  app.post("/answers", express.json(), limit, async (req, res) => {
    const gone = new AbortController();
    const { signal } = gone;
    // Without its client the model need not go on. A pipelined response that waits for its turn would emit no `close`.
    const leave = () => gone.abort();
    req.socket.once("close", leave);
    let tokens = promptTokens(req);
    try {
      const body = JSON.stringify({ prompt: req.body.prompt });
      const answer = await fetch(model, { method: "POST", body, signal });
      if (!answer.ok || answer.body === null) throw new Error(`the model said ${answer.status}`);
      res.type("text/plain");
      for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
        tokens += countTokens(part);
        // Sent on as it comes, and no faster than the client reads.
        if (!res.write(part)) await once(res, "drain", { signal });
      }
      res.end();
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      req.socket.off("close", leave);
      await limit.decisionOf(req)?.settle({ tokens });
    }
  });

  app.get("/usage", async (req, res) => {
    const customer = customerOf(req);
    if (customer === undefined) {
      res.sendStatus(401);
      return;
    }
    const { limits } = await limit.limiter.peek(customer, { cost: 0 });
    const used = limits.map((one) => [one.name, one.limit - one.remaining + one.overdrawn]);
    res.json(Object.fromEntries(used));
  });

  return app;
}

// Started as a program, not imported by a test.
if (process.argv[1] === import.meta.filename) {
  createApp(redisStore(new Redis()), "http://localhost:4000").listen(3000);
}
