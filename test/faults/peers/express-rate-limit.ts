import { rateLimit } from "express-rate-limit";
import type { Redis } from "ioredis";
import { RedisStore } from "rate-limit-redis";
import type { RedisClientType } from "redis";
import type { Caller } from "../callers/caller.ts";
import { createCaller } from "../callers/create-caller.ts";
import { serveExpress } from "../callers/timed-express.ts";
import type { FaultClient, Library } from "../clients.ts";
import { makeClient } from "../clients.ts";
import type { Endpoint } from "../endpoint.ts";
import { expressRateLimitOptions } from "./peer-options.ts";

/** express-rate-limit with rate-limit-redis, set up as their documentation shows. */
export async function makeExpressRateLimit(library: Library, endpoint: Endpoint): Promise<Caller> {
  const client = makeClient(library, endpoint);
  const name = `express-rate-limit, ${library}`;
  const store = new RedisStore({ prefix: `${name}:`, sendCommand: senderOf(client) });
  const limiter = rateLimit({ ...expressRateLimitOptions, store });
  const served = await serveExpress({
    install: (app) => app.use(limiter),
    sourceOf: (_, response) => (response.hasHeader("x-ratelimit-limit") ? "store" : "fallback"),
  });
  return createCaller(name, client, served);
}

function senderOf({ library, client }: FaultClient) {
  if (library === "ioredis") {
    const ioredis = client as unknown as Redis;
    return (command: string, ...args: string[]) => ioredis.call(command, ...args) as never;
  }
  const nodeRedis = client as unknown as RedisClientType;
  return (...args: string[]) => nodeRedis.sendCommand(args) as never;
}
