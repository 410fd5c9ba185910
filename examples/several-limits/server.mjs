// Several limits at once: each client 5 requests at once and 5 a second, each tenant 12 in any hour, decided together.
// A request that one limit denies is charged to none, so an impatient client does not use up its tenant's hour.
//
//   npx -y pnpm@10.34.9 build
//   node examples/several-limits/server.mjs
//   curl -i -H "x-tenant: acme" http://localhost:3000/

import { gcra, rateLimit, slidingLog } from "@headgate/express";
import express from "express";

const app = express();

app.use(
  rateLimit({
    name: "api",
    limits: [
      gcra({ limit: 5, window: "1s", per: "ip" }),
      slidingLog({ limit: 12, window: "1h", per: "tenant" }),
    ],
    // Yours would come from a token that has been verified. A request that names no tenant gets 400.
    key: { tenant: (req) => req.get("x-tenant") },
    missingKey: "reject",
  }),
);

app.get("/", (req, res) => {
  // The decision is on the request, with every limit in it.
  res.json(req.rateLimit?.limits.map(({ name, per, remaining }) => ({ name, per, remaining })));
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), () => {
  const address = server.address();
  if (address !== null && typeof address === "object") {
    console.log(`listening on http://localhost:${address.port}`);
  }
});
