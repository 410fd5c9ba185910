import { gcra, rateLimit } from "@headgate/express";
import type { Express } from "express";
import express from "express";

/** `proxies` are the addresses and networks from which your own proxies connect. */
export function createApp(proxies: string[]): Express {
  const app = express();
  app.set("trust proxy", proxies);
  app.use(rateLimit({ limits: gcra({ limit: 5, window: "1m" }) }));
  app.get("/", (req, res) => {
    res.json({ address: req.ip, left: req.rateLimit?.remaining });
  });
  return app;
}

// Started as a program, not imported by a test. nginx runs on the same machine.
if (process.argv[1] === import.meta.filename) createApp(["127.0.0.1", "::1"]).listen(3000);
