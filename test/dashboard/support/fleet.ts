import type { Limiter, Policy, Store } from "@headgate/core";
import { createLimiter, fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import type { Redis } from "ioredis";
import { onTestFinished } from "vitest";
import { sendUsage } from "../../support/send-usage.ts";
import { writeRegistry } from "../../support/write-registry.ts";

/** A fleet of one process. */
export interface Fleet {
  readonly store: Store;
  make(name: string, limits: Policy): Limiter;
  /** Lists what was made, and sends what was counted. */
  tell(): Promise<void>;
}

/** The policy of most limiters of these tests. */
export const THREE_AN_HOUR = fixedWindow({ limit: 3, window: "1h", block: "10m" });

/** A fleet on a Redis. Subjects in usage are as they are. */
export function createFleet(client: Redis, prefix = "fleet"): Fleet {
  // A client of its own: a process remembers the blocks that it has sent.
  const own = client.duplicate();
  onTestFinished(() => own.disconnect());
  const store = redisStore(own, { prefix, usage: { subjects: "plain" } });
  return {
    store,
    make(name, limits) {
      const limiter = createLimiter({ name, limits, store, denyCache: false, storeTimeout: "10s" });
      onTestFinished(() => limiter.close());
      return limiter;
    },
    async tell() {
      await writeRegistry(store);
      await sendUsage(store);
    },
  };
}

/** A fleet with the limiters `api` and `secret`, each of which admitted three requests of ann, and denied two. */
export async function createSeenFleet(client: Redis): Promise<Fleet> {
  const fleet = createFleet(client);
  for (const name of ["api", "secret"]) await consume(fleet.make(name, THREE_AN_HOUR), "ann", 5);
  await fleet.tell();
  return fleet;
}

/** Asks a limiter so many times about a subject. */
export async function consume(limiter: Limiter, subject: string, times: number): Promise<void> {
  for (let i = 0; i < times; i += 1) await limiter.consume(subject);
}
