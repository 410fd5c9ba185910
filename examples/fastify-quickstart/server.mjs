// A first limit: each client address gets 5 requests, and a new one every 12 seconds.
//
//   npx -y pnpm@10.34.9 build
//   node examples/fastify-quickstart/server.mjs
//   curl -i http://localhost:3000/        (six times)

import headgate, { gcra } from "@headgate/fastify";
import Fastify from "fastify";

const app = Fastify();

app.register(headgate, { limits: gcra({ limit: 5, window: "1m" }) });

app.get("/", async () => ({ hello: "world" }));

// A route can have limits of its own, cost more, or go without.
app.get(
  "/search",
  { config: { rateLimit: { limits: gcra({ limit: 2, window: "1m" }) } } },
  async () => [],
);
app.get("/health", { config: { rateLimit: false } }, async () => "ok");

console.log(`listening on ${await app.listen({ port: Number(process.env["PORT"] ?? 3000) })}`);
