import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Express, NextFunction, Request, Response } from "express";
import express from "express";
import { askOverHttp, DECISION_HEADER, formatDecision } from "./ask-over-http.ts";
import type { Taker } from "./caller.ts";

/** How a limiter is put into an application, and how one sees who took a decision. */
export interface ExpressSite {
  install(app: Express): void;
  takerOf(request: Request, response: Response): Taker;
}

/** Serves an application over HTTP; each answer says when its decision was asked for and when it was there. */
export async function serveExpress({ install, takerOf }: ExpressSite) {
  const app = express();
  app.use((request, response, next) => {
    const decidedFrom = performance.now();
    const { writeHead } = response;
    // The first thing that happens once it is known what to answer.
    response.writeHead = ((...args: Parameters<typeof writeHead>) => {
      const decision = {
        takenBy: takerOf(request, response),
        decidedFrom,
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
  const { ask, end } = askOverHttp((server.address() as AddressInfo).port);
  return {
    ask,
    async close() {
      await end();
      server.close();
      server.closeAllConnections();
    },
  };
}
