import type { FastifyInstance } from "fastify";
import type { Redis } from "ioredis";

/** What applications keep, however often their modules are evaluated. */
export const kept = globalThis as typeof globalThis & {
  /** The test connects it. */
  keptRedis: Redis;
  keptApp?: FastifyInstance;
};

/** What stands in the modules beside this one when they are evaluated: a test edits it in between. */
export const source = { limit: 1 };
