import { makeFastifyRateLimit, makeFastifyRateLimitLocal } from "./fastify-rate-limit.mjs";
import { makeEvalsha, makeIncr } from "./floor.mjs";
import { makeHeadgate, makeShapes } from "./headgate.mjs";
import { makeHonoRateLimiterMemory } from "./hono-rate-limiter.mjs";
import { makeExpressRateLimitMemory, makeRateLimitRedis } from "./rate-limit-redis.mjs";
import {
  makeFlexible,
  makeFlexibleBlocking,
  makeFlexibleMemory,
} from "./rate-limiter-flexible.mjs";

/** Floors make no decisions: they show the cost of the client and Redis alone. */
const FLOORS = {
  INCR: makeIncr,
  "EVALSHA, empty script": makeEvalsha,
};

const OURS = {
  Headgate: makeHeadgate,
  "Headgate, fixed window": (settings) => makeHeadgate(settings, { algorithm: "fixedWindow" }),
  "Headgate, no deny cache": (settings) => makeHeadgate(settings, { denyCache: false }),
  "Headgate, 50 shapes": (settings) => makeShapes(settings, 50),
};

/** Each as its documentation sets it up. All of them count fixed windows. */
const PEERS = {
  "rate-limit-redis": makeRateLimitRedis,
  "@fastify/rate-limit": makeFastifyRateLimit,
  "rate-limiter-flexible": makeFlexible,
  "rate-limiter-flexible, blocking": makeFlexibleBlocking,
};

/** Those that need no server. */
const IN_MEMORY = {
  "express-rate-limit, memory": makeExpressRateLimitMemory,
  "@fastify/rate-limit, memory": makeFastifyRateLimitLocal,
  "hono-rate-limiter, memory": makeHonoRateLimiterMemory,
  "rate-limiter-flexible, memory": makeFlexibleMemory,
};

const ALL = { ...FLOORS, ...OURS, ...PEERS, ...IN_MEMORY };

/**
 * Creates a limiter with `consume(subject)`; `isAllowed(answer, isThrown)` reads its answer, and `used(subject)` returns the used
 * units. The settings are `{ library, client, prefix, quotas: [{ limit, windowMs }] }`.
 */
export function makeLimiter(name, settings) {
  return ALL[name](settings);
}
