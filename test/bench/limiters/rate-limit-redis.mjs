import { MemoryStore } from "express-rate-limit";
import { RedisStore } from "rate-limit-redis";
import { senderOf } from "../clients.mjs";

/** The Redis store of express-rate-limit, called as its middleware calls it. */
export function makeRateLimitRedis({ library, client, quotas, prefix }) {
  return adaptStore(
    new RedisStore({ prefix: `${prefix}:`, sendCommand: senderOf(library, client) }),
    quotas,
  );
}

export function makeExpressRateLimitMemory({ quotas }) {
  return adaptStore(new MemoryStore(), quotas);
}

async function adaptStore(store, [{ limit, windowMs }]) {
  await store.init({ windowMs });
  return {
    consume: (subject) => store.increment(subject),
    isAllowed: ({ totalHits }) => totalHits <= limit,
    used: async (subject) => (await store.get(subject)).totalHits,
  };
}
