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
  /** Registers the limiters and sends their usage. */
  report(): Promise<void>;
}

/** The policy of most limiters of these tests. */
export const THREE_AN_HOUR = fixedWindow({ limit: 3, window: "1h", block: "10m" });

/** A fleet on a Redis server, on the server's clock unless another one is given. Its usage has subjects in plain text. */
export function createFleet(client: Redis, clock?: () => number): Fleet {
  // Its own client, because a process does not send the same block twice.
  const own = client.duplicate();
  onTestFinished(() => own.disconnect());
  const store = redisStore(own, { prefix: "fleet", clock, usage: { subjects: "plain" } });
  return {
    store,
    make(name, limits) {
      const limiter = createLimiter({ name, limits, store, denyCache: false, storeTimeout: "10s" });
      onTestFinished(() => limiter.close());
      return limiter;
    },
    async report() {
      await writeRegistry(store);
      await sendUsage(store);
    },
  };
}

/** A fleet with the limiters `api` and `secret`, each of which admitted three requests of ann, and denied two. */
export async function createFleetWithUsage(client: Redis): Promise<Fleet> {
  const fleet = createFleet(client);
  for (const name of ["api", "secret"]) await consume(fleet.make(name, THREE_AN_HOUR), "ann", 5);
  await fleet.report();
  return fleet;
}

/** Calls `consume` several times for a subject. */
export async function consume(limiter: Limiter, subject: string, times: number): Promise<void> {
  for (let i = 0; i < times; i += 1) await limiter.consume(subject);
}
