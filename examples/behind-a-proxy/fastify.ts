import headgate, { gcra } from "@headgate/fastify";
import type { FastifyInstance } from "fastify";
import Fastify from "fastify";

/** `proxies` are the addresses and networks from which your own proxies connect. */
export function createApp(proxies: string[]): FastifyInstance {
  const app = Fastify({ trustProxy: proxies, logger: { level: "warn" } });
  app.register(headgate, { limits: gcra({ limit: 5, window: "1m" }) });
  app.get("/", async (request) => ({ address: request.ip, left: request.rateLimit?.remaining }));
  return app;
}

// Started as a program, not imported by a test. nginx runs on the same machine.
if (process.argv[1] === import.meta.filename) {
  await createApp(["127.0.0.1", "::1"]).listen({ port: 3000 });
}
