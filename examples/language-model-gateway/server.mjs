// A gateway to a language model: each API key has a limit on requests and one on tokens, per minute. Both are one decision,
// all or nothing. How many tokens an answer takes is known at its end: an estimate is charged first, and settled then, even if the
// client hangs up in the middle.
//
//   npx -y pnpm@10.34.9 build
//   node examples/language-model-gateway/server.mjs        (with REDIS_URL=redis://... all processes count together)
//   curl -iN -H "x-api-key: ada-key" --json '{ "prompt": "say 300 words" }' http://localhost:3000/answers
//   curl -H "x-api-key: ada-key" http://localhost:3000/usage

import { once } from "node:events";
import { redisStore } from "@headgate/core/redis";
import { fixedWindow, rateLimit } from "@headgate/express";
import express from "express";
import { Redis } from "ioredis";
import { startModel } from "./model.mjs";

/** The tokens of a usual answer. One that takes more is charged the rest at its end. */
const TYPICAL_ANSWER = 100;

/** The customer of each API key. Yours would be in a database. */
const CUSTOMERS = new Map([
  ["ada-key", "ada"],
  ["grace-key", "grace"],
  ["linus-key", "linus"],
]);

/** @param {express.Request} req */
const customerOf = (req) => CUSTOMERS.get(req.get("x-api-key") ?? "");

/**
 * A word is a token here, and ends with a space; a real model tells in its answer how many it used.
 *
 * @param {string} text
 */
const countTokens = (text) => text.split(" ").length - 1;

/** @param {express.Request} req */
const promptTokens = (req) => countTokens(`${req.body?.prompt} `);

const redisUrl = process.env["REDIS_URL"];
const redis = redisUrl === undefined ? undefined : new Redis(redisUrl);
redis?.on("error", console.error);

const limit = rateLimit({
  name: "gateway",
  store: redis && redisStore(redis, { prefix: process.env["PREFIX"] ?? "hg-example" }),
  limits: [
    fixedWindow({ limit: 5, window: "1m", name: "requests" }),
    fixedWindow({ limit: 1_000, window: "1m", name: "tokens" }),
  ],
  key: customerOf,
  missing: "reject",
  cost: (req) => ({ requests: 1, tokens: promptTokens(req) + TYPICAL_ANSWER }),
});

const model = await startModel();
const app = express();

app.post("/answers", express.json(), limit, async (req, res) => {
  const gone = new AbortController();
  // The client has stopped reading, so the model can stop, too.
  res.on("close", () => gone.abort());
  const { signal } = gone;
  let tokens = promptTokens(req);
  try {
    const body = JSON.stringify({ prompt: req.body.prompt });
    const answer = await fetch(model, { method: "POST", body, signal });
    const text = /** @type {ReadableStream<Uint8Array>} */ (answer.body);
    res.type("text/plain");
    for await (const part of text.pipeThrough(new TextDecoderStream())) {
      tokens += countTokens(part);
      if (!res.write(part)) await once(res, "drain", { signal });
    }
    res.end();
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    // What was generated, whether or not all of it was read.
    await limit.of(req)?.settle({ tokens });
  }
});

app.get("/usage", async (req, res) => {
  const customer = customerOf(req);
  if (customer === undefined) {
    res.sendStatus(401);
    return;
  }
  const { limits } = await limit.limiter.peek(customer, { cost: 0 });
  res.json(
    Object.fromEntries(limits.map((one) => [one.name, one.limit - one.remaining + one.overdrawn])),
  );
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  console.log(`the model is ${model}`);
  console.log(`listening on http://localhost:${port}`);
});
