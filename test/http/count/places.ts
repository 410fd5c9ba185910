import { setImmediate } from "node:timers/promises";
import type { Limiter, Store } from "@headgate/core";
import { createLimiter, memoryStore, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { uniquePrefix, useRedis } from "../support/redis-client.ts";

/** A limiter of one client, and how much of it is used. */
export interface Counted {
  readonly limiter: Limiter;
  /** The units that count for 127.0.0.1, once the answers that a client has read are settled. */
  used(): Promise<number>;
}

export interface Place {
  readonly name: string;
  /** A limiter with so many units that come back after an hour. */
  count(limit: number): Counted;
}

/** Where requests are counted. For the tests of a suite. */
export function usePlaces(): readonly Place[] {
  const redis = useRedis();
  const placeOn = (name: string, makeStore: () => Store): Place => ({
    name,
    count(limit) {
      const limits = slidingLog({ limit, window: "1h", name: "hourly" });
      const options = { name: "counted", limits, storeTimeout: "1m" } as const;
      return usedOf(createLimiter({ ...options, store: makeStore() }));
    },
  });
  return [
    placeOn("memory", () => memoryStore()),
    placeOn("Redis", () => redisStore(redis, { prefix: uniquePrefix() })),
  ];
}

export function usedOf(
  limiter: Limiter,
  subject: Parameters<Limiter["peek"]>[0] = "127.0.0.1",
): Counted {
  return {
    limiter,
    async used() {
      // A client may have read an answer before its server is told that it was sent.
      for (let i = 0; i < 5; i += 1) await setImmediate();
      const { limit, remaining, limits } = await limiter.peek(subject, { cost: 0 });
      return limit - remaining + (limits[0]?.overdrawn ?? 0);
    },
  };
}

/** An error that is answered with a status. */
export function failure(status: number): Error {
  return Object.assign(new Error(`status ${status}`), { status });
}
