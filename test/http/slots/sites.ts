import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Limiter, Policy, Store } from "@headgate/core";
import { createLimiter, memoryStore } from "@headgate/core";
import type { RequestDecision } from "@headgate/express";
import { rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import type { Express } from "express";
import express from "express";
import express4 from "express4";
import Fastify from "fastify";
import { describe, onTestFinished } from "vitest";
import { listen } from "../support/listen.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { manualClock } from "../support/manual-clock.ts";

/** A request that reached the handler, which responds on Node's response. */
export interface HandledRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly own: RequestDecision | undefined;
}

export interface SiteOptions {
  readonly limits: Policy;
  readonly handle: (handled: HandledRequest) => unknown;
  /** More options of the limiter, as the adapters take them. */
  readonly options?: object;
  readonly store?: Store;
}

export interface SlotSite {
  readonly port: number;
  readonly limiter: Limiter;
  readonly clock: ManualClock;
  /** The remaining slots of the one subject. */
  remaining(): Promise<number>;
}

type Serve = (options: SiteOptions) => Promise<SlotSite>;

/** Declares tests on each framework: all clients count as one, on a clock that stands still. */
export function describeSites(declare: (serve: Serve) => void): void {
  describe("Express 4", () => declare(expressSite(express4)));
  describe("Express 5", () => declare(expressSite(express)));
  describe("Fastify 5", () => declare(fastifySite));
}

function limiterFor({ limits, store }: SiteOptions) {
  const clock = manualClock();
  const limiter = createLimiter({
    name: "slots",
    limits,
    store: store ?? memoryStore({ clock: clock.now }),
    storeTimeout: "1m",
  });
  const key = () => "all-clients";
  const remaining = async () => {
    const { limits } = await limiter.peek("all-clients", { cost: 0 });
    return limits.find(({ windowMs }) => windowMs === 0)?.remaining as number;
  };
  return { limiter, clock, key, remaining };
}

function expressSite(makeApp: () => Express): Serve {
  return async (site) => {
    const { limiter, key, ...rest } = limiterFor(site);
    const limit = rateLimit({ limiter, key, ...site.options });
    const app = makeApp();
    app.get("/", limit as never, (req, res, next) => {
      Promise.resolve(
        site.handle({ request: req, response: res, own: limit.decisionOf(req) }),
      ).catch(next);
    });
    const server = await listen(app);
    const { port } = server.address() as AddressInfo;
    return { port, limiter, ...rest };
  };
}

/** The handler hijacks the reply. */
async function fastifySite(site: SiteOptions): Promise<SlotSite> {
  const { limiter, key, ...rest } = limiterFor(site);
  const app = Fastify({ forceCloseConnections: true });
  onTestFinished(() => app.close());
  await app.register(headgate, { limiter, key, ...site.options });
  app.get("/", (request, reply) => {
    reply.hijack();
    void site.handle({
      request: request.raw,
      response: reply.raw,
      own: app.headgate.decisionOf(request),
    });
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { port, limiter, ...rest };
}
