import { setTimeout as delay } from "node:timers/promises";
import type { Limiter } from "@headgate/core";
import { createLimiter, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterEach, expect, test } from "vitest";
import { admittedBy, percentile, startCallers } from "../cluster/callers.ts";
import { lostPrimaries } from "../support/lost-primaries.ts";
import type { RedisSentinel } from "../support/redis-sentinel.ts";
import { startSentinel } from "../support/redis-sentinel.ts";
import { waitUntil } from "../support/wait-until.ts";
import { connectSentinel, sentinelClients } from "./sentinel-clients.ts";

const STORE_TIMEOUT_MS = 100;
/** What a busy machine adds to a timer. */
const NOISE_MS = 50;
/** Few enough that all of them are asked for on each side of a failover. */
const LIMIT = 60;
/** From the failover to the first undegraded decision of every subject; clients have a backoff of their own. */
const RECOVERY_MS = 15_000;
const SUBJECTS = ["a", "b", "c", "d"];

let sentinel: RedisSentinel | undefined;
afterEach(async () => {
  await sentinel?.stop();
});

test.each(lostPrimaries(sentinelClients))(
  "Sentinels name another primary, seen through $library: after one that was $fault: answers in time, no more than the bound, and back to normal",
  async ({ library, fault }) => {
    sentinel = await startSentinel();
    const { client, close } = await connectSentinel[library](sentinel);
    const limits = [slidingLog({ limit: LIMIT, window: "7d" })];
    const limiter = createLimiter({
      name: "api",
      limits,
      store: redisStore(client),
      denyCache: false,
    }) as Limiter;
    const callers = startCallers(limiter, SUBJECTS, 10);
    await delay(300);
    expect(callers.asked.some(({ decision }) => decision.degraded)).toBe(false);

    const primary = await sentinel.primary();
    const lostAt = performance.now();
    if (fault === "killed") await primary.process.kill();
    else primary.process.freeze();
    await sentinel.waitForFailover(primary);
    const takenOverAt = performance.now();
    let backAt: number;
    try {
      backAt = await waitUntil("every subject is counted by the store again", RECOVERY_MS, () =>
        SUBJECTS.every((subject) => {
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
    for (const subject of SUBJECTS) {
      const asked = callers.asked.filter((one) => one.subject === subject);
      // Once more than the policy, where the replica had not heard of the last writes; and once in this process.
      expect(admittedBy(asked, "store")).toBeLessThanOrEqual(2 * LIMIT);
      expect(admittedBy(asked, "local")).toBeLessThanOrEqual(LIMIT);
    }
    console.log(
      `${library}, ${fault}: failed over after ${(takenOverAt - lostAt).toFixed(0)} ms, undegraded ${(backAt - takenOverAt).toFixed(0)} ms later; ` +
        `longest answer ${percentile(since, 1).toFixed(0)} ms, half of ${since.length} within ${percentile(since, 0.5).toFixed(2)} ms`,
    );
  },
);
