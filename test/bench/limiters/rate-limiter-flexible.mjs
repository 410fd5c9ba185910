import { RateLimiterMemory, RateLimiterRedis, RateLimiterUnion } from "rate-limiter-flexible";

/** One limiter, or a union of one for each quota. A denial is thrown. */
export function makeFlexible({ library, client, quotas, prefix }, options = {}) {
  const limiters = quotas.map(
    ({ limit, windowMs }, i) =>
      new RateLimiterRedis({
        storeClient: client,
        useRedisPackage: library !== "ioredis",
        points: limit,
        duration: windowMs / 1_000,
        keyPrefix: `${prefix}-${i}`,
        ...options,
      }),
  );
  return adaptStore(limiters);
}

/** With its in-memory block: once denied, a subject is denied in this process until its window ends. */
export function makeFlexibleBlocking(settings) {
  return makeFlexible(settings, { inMemoryBlockOnConsumed: settings.quotas[0].limit });
}

export function makeFlexibleMemory({ quotas: [{ limit, windowMs }] }) {
  return adaptStore([new RateLimiterMemory({ points: limit, duration: windowMs / 1_000 })]);
}

function adaptStore(limiters) {
  const limiter = limiters.length === 1 ? limiters[0] : new RateLimiterUnion(...limiters);
  return {
    consume: (subject) => limiter.consume(subject),
    isAllowed: (_answer, isThrown) => !isThrown,
    used: async (subject) => (await limiters[0].get(subject))?.consumedPoints ?? 0,
  };
}
