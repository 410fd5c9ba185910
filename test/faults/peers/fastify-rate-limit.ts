import { createRequire } from "node:module";
import type { FastifyPluginAsync, FastifyReply } from "fastify";
import type { Caller } from "../callers/caller.ts";
import { createCaller } from "../callers/create-caller.ts";
import { LIMIT } from "../callers/policy.ts";
import { serveFastify } from "../callers/timed-fastify.ts";
import { makeClient, makeIoredisWith } from "../clients.ts";
import type { ServerEndpoint } from "../endpoint.ts";
import { fastifyRateLimitOptions } from "./peer-options.ts";

/** Loaded without types: its types declare `app.rateLimit`, as Headgate's do, and would merge with them. */
const fastifyRateLimit: FastifyPluginAsync<Record<string, unknown>> = createRequire(
  import.meta.url,
)("@fastify/rate-limit");

/** The options for ioredis in the example of its README, in place of ioredis's defaults. */
const ADVISED = { connectTimeout: 500, maxRetriesPerRequest: 1 };

/** Tells a counted request from a skipped error: both have the headers, but after an error not even the request itself is counted. */
function hasCounted(reply: FastifyReply): boolean {
  return Number(reply.getHeader("x-ratelimit-remaining")) < LIMIT;
}

/** @fastify/rate-limit, which takes ioredis only. */
export async function makeFastifyRateLimit(
  settings: "default" | "advised",
  endpoint: ServerEndpoint,
): Promise<Caller> {
  const isAdvised = settings === "advised";
  const client = isAdvised ? makeIoredisWith(ADVISED, endpoint) : makeClient("ioredis", endpoint);
  const name = `@fastify/rate-limit, ioredis${isAdvised ? " as advised" : ""}`;
  const served = await serveFastify({
    install: async (app) =>
      app.register(fastifyRateLimit, {
        ...fastifyRateLimitOptions,
        redis: client.client,
        nameSpace: `${name}:`,
      }),
    sourceOf: (_, reply) => (hasCounted(reply) ? "store" : "fallback"),
  });
  return createCaller(name, client, served);
}
