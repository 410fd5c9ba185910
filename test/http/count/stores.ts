import { setImmediate } from "node:timers/promises";
import type { Limiter, Store } from "@headgate/core";
import { createLimiter, memoryStore, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { uniquePrefix, useRedis } from "../support/redis-client.ts";

/** A limiter of one client, and its used units. */
export interface CountedLimiter {
  readonly limiter: Limiter;
  /** The units charged to 127.0.0.1, once the responses that a client has read are settled. */
  used(): Promise<number>;
}

export interface StoreKind {
  readonly name: string;
  /** Creates a limiter with this many units per hour. */
  count(limit: number): CountedLimiter;
}

/** The kinds of stores for a suite. */
export function useStores(): readonly StoreKind[] {
  const redis = useRedis();
  const placeOn = (name: string, makeStore: () => Store): StoreKind => ({
    name,
    count(limit) {
      const limits = slidingLog({ limit, window: "1h", name: "hourly" });
      const options = { name: "counted", limits, storeTimeout: "1m" } as const;
      return countUsage(createLimiter({ ...options, store: makeStore() }));
    },
  });
  return [
    placeOn("memory", () => memoryStore()),
    placeOn("Redis", () => redisStore(redis, { prefix: uniquePrefix() })),
  ];
}

export function countUsage(
  limiter: Limiter,
  subject: Parameters<Limiter["peek"]>[0] = "127.0.0.1",
): CountedLimiter {
  return {
    limiter,
    async used() {
      // A client may have read a response before its server knows that it was sent.
      for (let i = 0; i < 5; i += 1) await setImmediate();
      const { limit, remaining, limits } = await limiter.peek(subject, { cost: 0 });
      return limit - remaining + (limits[0]?.overdrawn ?? 0);
    },
  };
}

/** An error whose response has this status. */
export function failure(status: number): Error {
  return Object.assign(new Error(`status ${status}`), { status });
}
