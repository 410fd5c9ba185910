import { setTimeout as delay } from "node:timers/promises";
import type { Limiter } from "@headgate/core";
import { createLimiter, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterEach, expect, test } from "vitest";
import { lostPrimaries } from "../support/lost-primaries.ts";
import type { ClusterNode, RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { waitUntil } from "../support/wait-until.ts";
import { admittedBy, percentile, startCallers } from "./callers.ts";
import { connectCluster, currentClusterClients } from "./cluster-clients.ts";
import { subjectsOf } from "./subjects-of.ts";

const STORE_TIMEOUT_MS = 100;
/** What a busy machine adds to a timer. */
const NOISE_MS = 50;
/** Few enough that all of them are asked for on each side of a failover. */
const LIMIT = 60;
/** From the replica's taking over to the first undegraded decision of every subject; clients have a backoff of their own. */
const RECOVERY_MS = 10_000;

let cluster: RedisCluster | undefined;
afterEach(async () => {
  await cluster?.stop();
});

test.each(lostPrimaries(currentClusterClients))(
  "a replica takes over, seen through $library: from a primary that was $fault: answers in time, no more than the bound, and back to normal",
  async ({ library, fault }) => {
    cluster = await startCluster({ replicas: 1 });
    const { client, close } = await connectCluster[library](cluster.addresses);
    const limits = [slidingLog({ limit: LIMIT, window: "7d" })];
    const limiter = createLimiter({
      name: "api",
      limits,
      store: redisStore(client),
      denyCache: false,
    }) as Limiter;
    const [primary, other] = cluster.nodes as [ClusterNode, ClusterNode];
    const ofPrimary = await subjectsOf(cluster, primary, 4);
    const ofOther = await subjectsOf(cluster, other, 2);
    const callers = startCallers(limiter, [...ofPrimary, ...ofOther], 10);
    await delay(300);

    const lostAt = performance.now();
    if (fault === "killed") await primary.process.kill();
    else primary.process.freeze();
    const slot = await cluster.slotOf(ofPrimary[0] as string);
    await cluster.waitForFailover(slot, primary);
    const takenOverAt = performance.now();
    let backAt: number;
    try {
      backAt = await waitUntil("every subject is counted by the store again", RECOVERY_MS, () =>
        ofPrimary.every((subject) => {
          const last = callers.asked.findLast((one) => one.subject === subject);
          return last !== undefined && last.at > lostAt && !last.decision.degraded;
        })
          ? performance.now()
          : undefined,
      );
    } finally {
      await callers.stop();
    }
    await limiter.close();
    await close();

    const since = callers.asked.filter(({ at }) => at >= lostAt);
    expect(percentile(since, 1)).toBeLessThanOrEqual(STORE_TIMEOUT_MS + NOISE_MS);
    for (const subject of ofPrimary) {
      const asked = callers.asked.filter((one) => one.subject === subject);
      // Once more than the policy, where the replica had not heard of the last writes; and once in this process.
      const counted = admittedBy(asked, "store");
      expect(counted).toBeLessThanOrEqual(2 * LIMIT);
      expect(admittedBy(asked, "local")).toBeLessThanOrEqual(LIMIT);
    }
    const others = since.filter(({ subject }) => ofOther.includes(subject));
    const degraded = others.filter(({ decision }) => decision.degraded).length;
    console.log(
      `${library}, ${fault}: taken over after ${(takenOverAt - lostAt).toFixed(0)} ms, undegraded ${(backAt - takenOverAt).toFixed(0)} ms later; ` +
        `longest answer ${percentile(since, 1).toFixed(0)} ms; other node's subjects degraded ${degraded} of ${others.length}`,
    );
  },
);
