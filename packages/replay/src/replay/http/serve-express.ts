import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { rateLimit } from "@headgate/express";
import type { ErrorRequestHandler } from "express";
import express from "express";
import type { Application, ApplicationOptions } from "./http-run.ts";

export async function serveExpress(options: ApplicationOptions): Promise<Application> {
  const app = express();
  // The replay acts as a proxy on loopback, whose X-Forwarded-For is trusted.
  app.set("trust proxy", "loopback");

  const limiter = rateLimit({ ...options, onUnavailable: "deny" });
  app.use(limiter);

  app.use((_request, response) => {
    response.send("ok\n");
  });
  const sendError: ErrorRequestHandler = (error, _request, response, _next) => {
    response.status(500).send(String(error));
  };
  app.use(sendError);

  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.close();
      await once(server, "close");
      await limiter.close();
    },
  };
}
