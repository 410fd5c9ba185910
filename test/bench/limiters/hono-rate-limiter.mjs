import { MemoryStore } from "hono-rate-limiter";

/** The store of hono-rate-limiter, called as its middleware calls it. */
export function makeHonoRateLimiterMemory({ quotas: [{ limit, windowMs }] }) {
  const store = new MemoryStore();
  store.init({ windowMs });
  return {
    consume: (subject) => store.increment(subject),
    isAllowed: ({ totalHits }) => totalHits <= limit,
    used: (subject) => store.get(subject).totalHits,
  };
}
