// Exports that take long: each tenant may have two running at the same time, however many it starts and hangs up on.
// An export that nobody waits for any more ends by itself, and its place is free then.
//
//   npx -y pnpm@10.34.9 build
//   node examples/exports/server.mjs
//   curl -N -H "x-tenant: acme" http://localhost:3000/export & (three times: the third is denied)

import { setTimeout as delay } from "node:timers/promises";
import { concurrency, rateLimit } from "@headgate/express";
import express from "express";

const ROWS = Number(process.env["ROWS"] ?? 100);
const MS_PER_ROW = 100;

const app = express();

const twoAtOnce = rateLimit({
  name: "exports",
  // Longer than an export can go on without a client.
  limits: concurrency({ limit: 2, ttl: "30s" }),
  // Yours would come from a session or a token that you have checked.
  key: (req) => req.get("x-tenant"),
});

let running = 0;

app.get("/export", twoAtOnce, async (req, res) => {
  const signal = twoAtOnce.of(req)?.decision.signal;
  running += 1;
  try {
    res.type("text/csv");
    for (let row = 0; row < ROWS; row += 1) {
      // Whatever an export calls should know the signal: here it ends the loop soon after its client has left.
      await delay(MS_PER_ROW, undefined, signal && { signal });
      res.write(`${row},${row * row}\n`);
    }
  } catch (error) {
    if (!signal?.aborted) throw error;
    console.log(`gave up: ${signal.reason.code}`);
  } finally {
    running -= 1;
    // Also if the client has left: now the place is free.
    res.end();
  }
});

app.get("/running", (_, res) => {
  res.json(running);
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  console.log(`listening on http://localhost:${port}`);
});
