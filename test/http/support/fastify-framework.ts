import type { AddressInfo } from "node:net";
import headgate from "@headgate/fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import Fastify from "fastify";
import { onTestFinished } from "vitest";
import type { Framework, Route, SharedOptions, Site, Warning } from "./framework.ts";
import { describeError, listOf } from "./framework.ts";
import { createHttpClient } from "./send-request.ts";

/** A level of pino's: what is below is not for the operator, and what is above is Fastify's own unless it has a code of ours. */
const WARN = 40;

/** Fastify: limiters are registrations, in the root scope for the site and in a scope of its own for a route. */
export const fastifyFramework: Framework = {
  name: "Fastify 5",

  async serve(site = {}) {
    const { limits, routes = { "/": {} }, before, ownErrorHandler = true } = site;
    const warnings: Warning[] = [];
    const errors: Error[] = [];
    const handled: string[] = [];
    const app = makeApp(site.trustProxy, warnings);
    onTestFinished(() => app.close());
    if (ownErrorHandler) {
      app.setErrorHandler<Error>((error, _, reply) => {
        errors.push(error);
        const { status, body } = describeError(error);
        return reply.code(status).send(body);
      });
    }
    if (before !== undefined) {
      app.addHook("onRequest", async (request, reply) => {
        await before(request, sendWith(reply));
      });
    }
    for (const options of listOf(limits)) await app.register(headgate, optionsFor(options));
    for (const [url, route] of Object.entries(routes)) {
      await app.register((scope) => addRoute(scope, url, route, handled));
    }
    const place = site.path === undefined ? { host: "127.0.0.1", port: 0 } : { path: site.path };
    await app.listen(place);
    const { port = 0 } = (app.addresses()[0] ?? {}) as Partial<AddressInfo>;
    const { sendRequest, end } = createHttpClient(
      site.path === undefined ? { port } : { path: site.path },
    );
    onTestFinished(end);
    return { port, handled, errors, warnings, sendRequest, close: () => app.close() };
  },
};

function makeApp(trustProxy: Site["trustProxy"], warnings: Warning[]): FastifyInstance {
  const stream = {
    write(line: string) {
      const { level, code, msg } = JSON.parse(line);
      const isOurs = String(code).startsWith("HEADGATE");
      if (level === WARN || isOurs) warnings.push({ code, message: msg });
    },
  };
  const logger = { level: "warn", stream };
  return Fastify({ trustProxy: trustProxy ?? false, forceCloseConnections: true, logger });
}

async function addRoute(
  scope: FastifyInstance,
  url: string,
  { limits, handle = (request) => request.rateLimit ?? null }: Route,
  handled: string[],
): Promise<void> {
  for (const options of listOf(limits)) await scope.register(headgate, optionsFor(options));
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    handled.push(request.url);
    reply.type("application/json");
    return JSON.stringify(await handle(request));
  };
  scope.route({ method: ["GET", "POST"], url, handler });
}

function optionsFor({ onDenied, ...rest }: SharedOptions): object {
  if (typeof onDenied !== "function") return { ...rest, onDenied };
  const ours = (
    request: FastifyRequest,
    reply: FastifyReply,
    decision: Parameters<typeof onDenied>[2],
  ) => onDenied(request, sendWith(reply), decision);
  return { ...rest, onDenied: ours };
}

function sendWith(reply: FastifyReply) {
  return (status: number, body: string): void => {
    reply.code(status).type("text/plain").send(body);
  };
}
