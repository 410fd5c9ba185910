import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Limiter, ThresholdReached } from "@headgate/core";
import { CHANNELS, createLimiter, fixedWindow, gcra, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Random } from "../conformance/random/random.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { connectCluster } from "./cluster-clients.ts";
import { subjectOnEach } from "./subjects-of.ts";

/** No unit comes back while a test runs. */
const window = "7d";
const notifyAt = [0.5, 1];
const ROUNDS = process.env["HEADGATE_LONG"] === "1" ? 60 : 8;

const POLICY = [
  gcra({ limit: 30, window, per: "user", name: "user", notifyAt }),
  fixedWindow({ limit: 40, window, per: "tenant", name: "tenant", notifyAt }),
  slidingLog({ limit: 60, window, per: "route", name: "route", notifyAt }),
];

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());

/** Records the thresholds that a limiter publishes until the test ends, as short texts. */
function listen(limiter: string): string[] {
  const published: string[] = [];
  const record = (message: unknown): void => {
    const reached = message as ThresholdReached;
    if (reached.limiter !== limiter) return;
    published.push(`${reached.name} ${reached.subject[reached.per]} ${reached.threshold}`);
  };
  subscribe(CHANNELS.threshold, record);
  onTestFinished(() => void unsubscribe(CHANNELS.threshold, record));
  return published;
}

test.for(Array.from({ length: ROUNDS }, (_, round) => round + 1))(
  "limits in several hash slots, used by several clients at once, publish each threshold once (seed %i)",
  async (seed) => {
    const random = new Random(seed);
    const name = `thresholds-${seed}`;
    const published = listen(name);
    const limiters: Limiter<"user" | "tenant" | "route">[] = [];
    for (const library of ["ioredis 6", "node-redis 6", "ioredis 5", "node-redis 5"] as const) {
      const connection = await connectCluster[library](cluster.addresses);
      onTestFinished(() => connection.close().then(() => {}));
      const store = redisStore(connection.client);
      const limits = POLICY;
      const options = { name, limits, store, storeTimeout: "30s", denyCache: false } as const;
      limiters.push(createLimiter(options));
    }
    const [user, tenant, route] = (await subjectOnEach(cluster)) as [string, string, string];
    const [otherUser] = (await subjectOnEach(cluster)) as [string];
    const pending = Array.from({ length: 120 }, async () => {
      const who = { user: random.pick([user, otherUser]), tenant, route };
      const cost = random.whole(1, 2);
      const limiter = random.pick(limiters);
      // Charges pass the limits, whatever is left of them.
      if (random.chance(0.2)) await limiter.charge(who, { cost });
      else expect((await limiter.consume(who, { cost })).degraded).toBe(false);
    });
    await Promise.all(pending);
    const distinct = new Set(published);
    expect(distinct.size).toBe(published.length);
    const [first] = limiters;
    for (const whose of [user, otherUser]) {
      const look = await first?.peek({ user: whose, tenant, route }, { cost: 0 });
      for (const { name: limit, limit: most, remaining, overdrawn } of look?.limits ?? []) {
        const subject = { user: whose, tenant, route }[limit] ?? "";
        for (const threshold of notifyAt) {
          // A threshold that was reached briefly, and refunded because another hash slot denied, may have been published as
          // well.
          if (most - remaining + overdrawn >= threshold * most) {
            expect(published).toContain(`${limit} ${subject} ${threshold}`);
          }
        }
      }
    }
    expect(published.length).toBeGreaterThanOrEqual(4);
    for (const limiter of limiters) await limiter.close();
  },
);
