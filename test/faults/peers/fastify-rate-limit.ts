import { createRequire } from "node:module";
import type { FastifyPluginAsync, FastifyReply } from "fastify";
import type { Caller } from "../callers/caller.ts";
import { callerOver } from "../callers/caller-over.ts";
import { LIMIT } from "../callers/policy.ts";
import { serveFastify } from "../callers/timed-fastify.ts";
import { makeClient, makeIoredisWith } from "../clients.ts";
import type { ServerPlace } from "../place.ts";
import { fastifyRateLimitOptions } from "./peer-options.ts";

/** Its types name `app.rateLimit` as ours do, and would mix with them wherever they are seen. */
const fastifyRateLimit: FastifyPluginAsync<Record<string, unknown>> = createRequire(
  import.meta.url,
)("@fastify/rate-limit");

/** What the example of its README gives ioredis, in place of ioredis's defaults. */
const ADVISED = { connectTimeout: 500, maxRetriesPerRequest: 1 };

/** It sends its headers also when it skipped an error; then nothing is counted, not even the request itself. */
function hasCounted(reply: FastifyReply): boolean {
  return Number(reply.getHeader("x-ratelimit-remaining")) < LIMIT;
}

/** @fastify/rate-limit, which takes ioredis only. */
export async function makeFastifyRateLimit(
  settings: "default" | "advised",
  place: ServerPlace,
): Promise<Caller> {
  const isAdvised = settings === "advised";
  const client = isAdvised ? makeIoredisWith(ADVISED, place) : makeClient("ioredis", place);
  const name = `@fastify/rate-limit, ioredis${isAdvised ? " as advised" : ""}`;
  const served = await serveFastify({
    install: async (app) =>
      app.register(fastifyRateLimit, {
        ...fastifyRateLimitOptions,
        redis: client.client,
        nameSpace: `${name}:`,
      }),
    takerOf: (_, reply) => (hasCounted(reply) ? "store" : "fallback"),
  });
  return callerOver(name, client, served);
}
