import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Limiter } from "@headgate/core";
import type { RequestDecision } from "@headgate/express";
import { rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import type { Express } from "express";
import express from "express";
import express4 from "express4";
import Fastify from "fastify";
import { describe, onTestFinished } from "vitest";
import { listen } from "../support/listen.ts";

/** A request that reached its handler, which answers on Node's response. */
export interface Handled {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The limiter's decision; undefined for paths without a limit. */
  readonly own: RequestDecision | undefined;
}

export interface Site {
  readonly limiter: Limiter;
  readonly count?: "all" | "failed";
  readonly wait?: number;
  handle(handled: Handled): unknown;
}

/** Serves a handler on all paths. Those that begin with `/limited` are limited, everybody as one. Resolves with the port. */
export type Serve = (site: Site) => Promise<number>;

interface Framework {
  readonly name: string;
  readonly protocol: "HTTP/1.1" | "HTTP/2";
  readonly serve: Serve;
}

const key = () => "everybody";

function onExpress(makeApp: () => Express): Serve {
  return async ({ limiter, handle, ...options }) => {
    const limit = rateLimit({ limiter, key, ...options });
    const app = makeApp();
    app.use("/limited", limit as never);
    app.use((req, res) => handle({ request: req, response: res, own: limit.decisionOf(req) }));
    return ((await listen(app)).address() as AddressInfo).port;
  };
}

/** The handler takes the reply over. */
function onFastify(http2: boolean): Serve {
  return async ({ limiter, handle, ...options }) => {
    const app = Fastify({ http2: http2 as false });
    const connections = new Set<Socket>();
    app.server.on("connection", (socket: Socket) => connections.add(socket));
    onTestFinished(() => {
      // Node waits for sessions of HTTP/2.
      for (const connection of connections) connection.destroy();
      return app.close();
    });
    // Its own would read the body first.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_request, _payload, done) => done(null));
    const limitOf = (isLimited: boolean) =>
      app.register(async (scope) => {
        if (isLimited) await scope.register(headgate, { limiter, key, ...options });
        scope.route({
          method: ["GET", "HEAD", "POST"],
          url: isLimited ? "/limited/*" : "/free/*",
          handler(request, reply) {
            reply.hijack();
            const own = isLimited ? scope.headgate.decisionOf(request) : undefined;
            handle({ request: request.raw, response: reply.raw, own });
          },
        });
      });
    await limitOf(true);
    await limitOf(false);
    await app.listen({ host: "127.0.0.1", port: 0 });
    return (app.server.address() as AddressInfo).port;
  };
}

/** Express cannot serve Node's HTTP/2: it gives each request the prototype of HTTP/1.1's. */
export const FRAMEWORKS: readonly Framework[] = [
  { name: "Express 4", protocol: "HTTP/1.1", serve: onExpress(express4) },
  { name: "Express 5", protocol: "HTTP/1.1", serve: onExpress(express) },
  { name: "Fastify", protocol: "HTTP/1.1", serve: onFastify(false) },
  { name: "Fastify", protocol: "HTTP/2", serve: onFastify(true) },
];

/** Declares tests on each framework that speaks a protocol. */
export function describeProtocol(
  protocol: Framework["protocol"],
  declare: (serve: Serve) => void,
): void {
  for (const framework of FRAMEWORKS) {
    if (framework.protocol !== protocol) continue;
    describe(`${framework.name} over ${protocol}`, () => declare(framework.serve));
  }
}
