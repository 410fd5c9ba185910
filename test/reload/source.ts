import type { FastifyInstance } from "fastify";
import type { Redis } from "ioredis";

/** What applications keep, however often their modules are evaluated. */
export const kept = globalThis as typeof globalThis & {
  /** The test connects it. */
  keptRedis: Redis;
  keptApp?: FastifyInstance;
};

/** The text of the modules in this folder when they are evaluated, which a test edits in between. */
export const source = { limit: 1 };
