import type { Decision } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import type { FaultClient, Library } from "../clients.ts";
import { LIBRARIES, makeClient } from "../clients.ts";
import type { Place } from "../place.ts";
import type { Caller, Taker } from "./caller.ts";
import { callerOver } from "./caller-over.ts";
import { limits, SUBJECT_HEADER } from "./policy.ts";
import { serveExpress } from "./timed-express.ts";
import { serveFastify } from "./timed-fastify.ts";

/** Called for each warning in an application's own log. */
export type OnLog = (code: string) => void;

/** Everybody who asks Headgate: the core and both adapters, through each client library, all with default options. */
export async function makeHeadgateCallers(place: Place, onLog: OnLog): Promise<Caller[]> {
  const kinds = [makeCore, makeFastify, makeExpress];
  return Promise.all(
    LIBRARIES.flatMap((library) => kinds.map((make) => make(library, place, onLog))),
  );
}

async function makeCore(library: Library, place: Place): Promise<Caller> {
  const client = makeClient(library, place);
  const name = nameOf("core", client);
  const limiter = createLimiter({ name, limits, store: redisStore(client.client) });
  return {
    name,
    client,
    async ask(subject) {
      const decidedFrom = performance.now();
      const decision = await limiter.consume(subject);
      const decidedAt = performance.now();
      return {
        isAdmitted: decision.allowed,
        takenBy: takerOf(decision),
        decidedFrom,
        decidedAt,
      };
    },
    async close() {
      await limiter.close();
      await client.close();
    },
  };
}

export async function makeFastify(library: Library, place: Place, onLog: OnLog): Promise<Caller> {
  const client = makeClient(library, place);
  const name = nameOf("Fastify", client);
  const served = await serveFastify({
    install: async (app) =>
      app.register(headgate, {
        name,
        limits,
        store: redisStore(client.client),
        key: (request) => String(request.headers[SUBJECT_HEADER]),
      }),
    takerOf: ({ rateLimit }) => takerOf(rateLimit),
    onLog: ({ code = "" }) => onLog(code),
  });
  return callerOver(name, client, served);
}

export async function makeExpress(library: Library, place: Place): Promise<Caller> {
  const client = makeClient(library, place);
  const name = nameOf("Express", client);
  const limiter = rateLimit({
    name,
    limits,
    store: redisStore(client.client),
    key: (request) => String(request.headers[SUBJECT_HEADER]),
  });
  const served = await serveExpress({
    install: (app) => app.use(limiter),
    takerOf: ({ rateLimit }) => takerOf(rateLimit),
  });
  return callerOver(name, client, served);
}

/** A request without a decision was limited by nobody. */
function takerOf(decision: Decision | null | undefined): Taker {
  if (decision?.source === "store") return "store";
  return decision?.source === "deny-cache" ? "cache" : "fallback";
}

function nameOf(kind: string, { library }: FaultClient): string {
  return `${kind}, ${library}`;
}
