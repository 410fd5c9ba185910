// A first limit: each client address gets 5 requests, and a new one every 12 seconds.
//
//   npx -y pnpm@10.34.9 build
//   node examples/express-quickstart/server.mjs
//   curl -i http://localhost:3000/        (six times)

import { gcra, rateLimit, slidingLog } from "@headgate/express";
import express from "express";

const app = express();

// Routes registered before the middleware are not limited.
app.get("/health", (_req, res) => {
  res.send("ok");
});

app.use(rateLimit({ limits: gcra({ limit: 5, window: "1m" }) }));

app.get("/", (_req, res) => {
  res.json({ hello: "world" });
});

// A route can have one more limiter, here two attempts in any 15 minutes.
app.post("/login", rateLimit({ limits: slidingLog({ limit: 2, window: "15m" }) }), (_req, res) => {
  res.json({ loggedIn: true });
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), () => {
  const address = server.address();
  if (address !== null && typeof address === "object") {
    console.log(`listening on http://localhost:${address.port}`);
  }
});
