import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Express, NextFunction, Request, Response } from "express";
import express from "express";
import type { DecisionSource } from "./caller.ts";
import { createHttpClient, DECISION_HEADER, formatDecision } from "./http-client.ts";

/** How to install a limiter in an application, and how to read the source of a decision. */
export interface ExpressSite {
  install(app: Express): void;
  sourceOf(request: Request, response: Response): DecisionSource;
}

/** Serves an application over HTTP; each response reports when its decision was requested and when it was made. */
export async function serveExpress({ install, sourceOf }: ExpressSite) {
  const app = express();
  app.use((request, response, next) => {
    const requestedAt = performance.now();
    const { writeHead } = response;
    // Express calls writeHead as soon as the response is decided.
    response.writeHead = ((...args: Parameters<typeof writeHead>) => {
      const decision = {
        source: sourceOf(request, response),
        requestedAt,
        decidedAt: performance.now(),
      };
      response.setHeader(DECISION_HEADER, formatDecision(decision));
      return writeHead.apply(response, args);
    }) as typeof writeHead;
    next();
  });
  install(app);
  app.get("/", (_, response) => {
    response.send("admitted");
  });
  // Express's own handler prints every error.
  app.use((error: Error, _: Request, response: Response, _next: NextFunction) => {
    response.status(500).send(error.message);
  });
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { consume, close: closeClient } = createHttpClient((server.address() as AddressInfo).port);
  return {
    consume,
    async close() {
      await closeClient();
      server.close();
      server.closeAllConnections();
    },
  };
}
