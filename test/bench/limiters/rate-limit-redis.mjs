import { MemoryStore } from "express-rate-limit";
import { RedisStore } from "rate-limit-redis";
import { senderOf } from "../clients.mjs";

/** The Redis store of express-rate-limit, asked as its middleware asks it. */
export function makeRateLimitRedis({ library, client, quotas, prefix }) {
  return askBy(
    new RedisStore({ prefix: `${prefix}:`, sendCommand: senderOf(library, client) }),
    quotas,
  );
}

export function makeExpressRateLimitMemory({ quotas }) {
  return askBy(new MemoryStore(), quotas);
}

async function askBy(store, [{ limit, windowMs }]) {
  await store.init({ windowMs });
  return {
    ask: (subject) => store.increment(subject),
    isAllowed: ({ totalHits }) => totalHits <= limit,
    used: async (subject) => (await store.get(subject)).totalHits,
  };
}
