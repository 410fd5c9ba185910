import { makeFastifyRateLimit, makeFastifyRateLimitLocal } from "./fastify-rate-limit.mjs";
import { makeEvalsha, makeIncr } from "./floor.mjs";
import { makeHeadgate } from "./headgate.mjs";
import { makeExpressRateLimitMemory, makeRateLimitRedis } from "./rate-limit-redis.mjs";
import {
  makeFlexible,
  makeFlexibleBlocking,
  makeFlexibleMemory,
} from "./rate-limiter-flexible.mjs";

/** Floors decide nothing: they show what the client and Redis cost by themselves. */
const FLOORS = {
  INCR: makeIncr,
  "EVALSHA, empty script": makeEvalsha,
};

const OURS = {
  Headgate: makeHeadgate,
  "Headgate, fixed window": (place) => makeHeadgate(place, { algorithm: "fixedWindow" }),
  "Headgate, no deny cache": (place) => makeHeadgate(place, { denyCache: false }),
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
  "rate-limiter-flexible, memory": makeFlexibleMemory,
};

const ALL = { ...FLOORS, ...OURS, ...PEERS, ...IN_MEMORY };

/**
 * Makes what answers `ask(subject)`; `isAllowed(answer, isThrown)` reads the answer, and `used(subject)` reports what is counted.
 * The place is `{ library, client, prefix, quotas: [{ limit, windowMs }] }`.
 */
export function makeLimiter(name, place) {
  return ALL[name](place);
}
