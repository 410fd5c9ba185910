import fastifyRateLimit from "@fastify/rate-limit";
import type { Caller } from "../callers/caller.ts";
import { callerOver } from "../callers/caller-over.ts";
import { serveFastify } from "../callers/timed-fastify.ts";
import { makeClient, makeIoredisWith } from "../clients.ts";
import type { ServerPlace } from "../place.ts";
import { fastifyRateLimitOptions } from "./peer-options.ts";

/** What the example of its README gives ioredis, in place of ioredis's defaults. */
const ADVISED = { connectTimeout: 500, maxRetriesPerRequest: 1 };

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
    takerOf: (_, reply) => (reply.hasHeader("x-ratelimit-limit") ? "store" : "fallback"),
  });
  return callerOver(name, client, served);
}
