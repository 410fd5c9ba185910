// A new limit in shadow mode: it denies no request, and reports the clients that it would have denied. ENFORCE=yes turns it on.

import { subscribe } from "node:diagnostics_channel";
import type { PublishedDecision, Store } from "@headgate/core";
import { CHANNELS } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { gcra, rateLimit } from "@headgate/express";
import type { Express } from "express";
import express from "express";
import { Redis } from "ioredis";

/** How often each client would have been denied. */
export const wouldDeny = new Map<string, number>();

subscribe(CHANNELS.decision, (message) => {
  const { limiter, shadow, subject, decision } = message as PublishedDecision;
  if (limiter !== "api" || !shadow || decision.wouldAllow) return;
  const client = subject["default"] ?? "unknown";
  wouldDeny.set(client, (wouldDeny.get(client) ?? 0) + 1);
});

export function createApp(store: Store, isEnforced: boolean): Express {
  const app = express();

  app.use(
    rateLimit({
      name: "api",
      store,
      limits: gcra({ limit: 60, window: "1m", burst: 10 }),
      // Yours comes from a session or a token that you have checked.
      key: (req) => req.get("x-client"),
      shadow: !isEnforced,
    }),
  );

  app.get("/", (_, res) => {
    res.send("hello");
  });

  return app;
}

// Started as a program, not imported by a test.
if (process.argv[1] === import.meta.filename) {
  const store = redisStore(new Redis(), { usage: true });
  createApp(store, process.env["ENFORCE"] === "yes").listen(3000);
  // Once a minute: the clients with the most would-be denials.
  setInterval(() => {
    const most = [...wouldDeny].sort(([, a], [, b]) => b - a).slice(0, 10);
    for (const [client, count] of most) console.log(`would deny ${client}: ${count} times`);
    wouldDeny.clear();
  }, 60_000).unref();
}
