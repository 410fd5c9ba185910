import type { Decision } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import type { FaultClient, Library } from "../clients.ts";
import { LIBRARIES, makeClient } from "../clients.ts";
import type { Endpoint } from "../endpoint.ts";
import type { Caller, DecisionSource } from "./caller.ts";
import { createCaller } from "./create-caller.ts";
import { limits, SUBJECT_HEADER } from "./policy.ts";
import { serveExpress } from "./timed-express.ts";
import { serveFastify } from "./timed-fastify.ts";

/** Receives the code of each warning in an application's own log. */
export type OnLog = (code: string) => void;

/** Creates Headgate's callers: the core and both adapters, through each client library, all with default options. */
export async function makeHeadgateCallers(endpoint: Endpoint, onLog: OnLog): Promise<Caller[]> {
  const kinds = [makeCore, makeFastify, makeExpress];
  return Promise.all(
    LIBRARIES.flatMap((library) => kinds.map((make) => make(library, endpoint, onLog))),
  );
}

async function makeCore(library: Library, endpoint: Endpoint): Promise<Caller> {
  const client = makeClient(library, endpoint);
  const name = nameOf("core", client);
  const limiter = createLimiter({ name, limits, store: redisStore(client.client) });
  return {
    name,
    client,
    async consume(subject) {
      const requestedAt = performance.now();
      const decision = await limiter.consume(subject);
      const decidedAt = performance.now();
      return {
        isAdmitted: decision.allowed,
        source: sourceOf(decision),
        requestedAt,
        decidedAt,
      };
    },
    async close() {
      await limiter.close();
      await client.close();
    },
  };
}

export async function makeFastify(
  library: Library,
  endpoint: Endpoint,
  onLog: OnLog,
): Promise<Caller> {
  const client = makeClient(library, endpoint);
  const name = nameOf("Fastify", client);
  const served = await serveFastify({
    install: async (app) =>
      app.register(headgate, {
        name,
        limits,
        store: redisStore(client.client),
        key: (request) => String(request.headers[SUBJECT_HEADER]),
      }),
    sourceOf: ({ rateLimit }) => sourceOf(rateLimit),
    onLog: ({ code = "" }) => onLog(code),
  });
  return createCaller(name, client, served);
}

export async function makeExpress(library: Library, endpoint: Endpoint): Promise<Caller> {
  const client = makeClient(library, endpoint);
  const name = nameOf("Express", client);
  const limiter = rateLimit({
    name,
    limits,
    store: redisStore(client.client),
    key: (request) => String(request.headers[SUBJECT_HEADER]),
  });
  const served = await serveExpress({
    install: (app) => app.use(limiter),
    sourceOf: ({ rateLimit }) => sourceOf(rateLimit),
  });
  return createCaller(name, client, served);
}

/** A request without a decision was not limited, which counts as the fallback. */
function sourceOf(decision: Decision | null | undefined): DecisionSource {
  if (decision?.source === "store") return "store";
  return decision?.source === "deny-cache" ? "cache" : "fallback";
}

function nameOf(kind: string, { library }: FaultClient): string {
  return `${kind}, ${library}`;
}
