import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const RedisStore = require("@fastify/rate-limit/store/RedisStore.js");
const LocalStore = require("@fastify/rate-limit/store/LocalStore.js");

/** The stores of @fastify/rate-limit, called as the plugin calls them. The Redis store supports ioredis only. */
export function makeFastifyRateLimit({ client, quotas, prefix }) {
  return adaptStore(new RedisStore(false, false, client, `${prefix}-`), quotas);
}

export function makeFastifyRateLimitLocal({ quotas }) {
  return adaptStore(new LocalStore(false, false, 5_000), quotas);
}

function adaptStore(store, [{ limit, windowMs }]) {
  const asPromise = (method) => (subject) =>
    new Promise((resolve, reject) => {
      const settle = (error, reply) => (error ? reject(error) : resolve(reply));
      store[method](subject, settle, windowMs, limit);
    });
  const read = asPromise("read");
  return {
    consume: asPromise("incr"),
    isAllowed: ({ current }) => current <= limit,
    used: async (subject) => (await read(subject)).current,
  };
}
