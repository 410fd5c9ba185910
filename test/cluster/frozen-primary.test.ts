import { setTimeout as delay } from "node:timers/promises";
import type { Limiter } from "@headgate/core";
import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ClusterNode } from "../support/cluster-nodes.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { waitUntil } from "../support/wait-until.ts";
import { admittedBy, percentile, startCallers } from "./callers.ts";
import { connectCluster, currentClusterClients } from "./cluster-clients.ts";
import { subjectsOf } from "./subjects-of.ts";

/** Longer than the default, for a machine that does other things as well. */
const STORE_TIMEOUT_MS = 250;
/** What a busy machine adds to a timer. */
const NOISE_MS = 50;
const FROZEN_MS = 3_000;
const LIMIT = 100;

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());

describe.each(currentClusterClients)("a primary of three that is frozen, through %s", (library) => {
  test("a frozen primary degrades only its own subjects, and serves them again when it thaws", async () => {
    const { client, close } = await connectCluster[library](cluster.addresses);
    const limits = [gcra({ limit: LIMIT, window: "7d" })];
    const limiter = createLimiter({
      name: library,
      limits,
      store: redisStore(client),
      storeTimeout: STORE_TIMEOUT_MS,
      denyCache: false,
    }) as Limiter;
    const [frozen, ...others] = cluster.nodes as [ClusterNode, ...ClusterNode[]];
    const ofFrozen = await subjectsOf(cluster, frozen, 4);
    const ofOthers = (await Promise.all(others.map((node) => subjectsOf(cluster, node, 2)))).flat();
    const callers = startCallers(limiter, [...ofFrozen, ...ofOthers], 5);
    const decisionsOn = (
      subjects: readonly string[],
      from: number,
      to = Number.POSITIVE_INFINITY,
    ) =>
      callers.decisions.filter(
        ({ subject, at }) => subjects.includes(subject) && at >= from && at < to,
      );
    await delay(300);

    const frozenAt = performance.now();
    frozen.process.freeze();
    await delay(FROZEN_MS);
    const thawedAt = performance.now();
    frozen.process.thaw();
    const back = await waitUntil(
      "the thawed node's subjects are counted by the store",
      5_000,
      () =>
        ofFrozen.every(
          (subject) =>
            callers.decisions.findLast((one) => one.subject === subject)?.decision.degraded ===
            false,
        )
          ? performance.now()
          : undefined,
    );
    await delay(200);
    await callers.stop();
    await limiter.close();
    await close();

    const before = decisionsOn(ofOthers, 0, frozenAt);
    const meanwhile = decisionsOn(ofOthers, frozenAt, thawedAt);
    // Without a deny cache, only the store or this process decides.
    expect(meanwhile.every(({ decision }) => decision.source === "store")).toBe(true);
    expect(percentile(meanwhile, 0.9)).toBeLessThan(STORE_TIMEOUT_MS / 2);
    const down = decisionsOn(ofFrozen, frozenAt, thawedAt);
    expect(down.every(({ decision }) => decision.source === "local")).toBe(true);
    expect(percentile(down, 1)).toBeLessThanOrEqual(STORE_TIMEOUT_MS + NOISE_MS);
    const known = decisionsOn(ofFrozen, frozenAt + STORE_TIMEOUT_MS + NOISE_MS, thawedAt);
    expect(known.length).toBeGreaterThan(ofFrozen.length * 20);
    expect(percentile(known, 0.9)).toBeLessThan(1);
    expect(back - thawedAt).toBeLessThan(1_000);
    for (const subject of ofFrozen) {
      const all = decisionsOn([subject], 0);
      expect(admittedBy(all, "store")).toBeLessThanOrEqual(LIMIT);
      expect(admittedBy(all, "local")).toBeLessThanOrEqual(LIMIT);
    }
    console.log(
      `${library}: other nodes' subjects answered in ${percentile(before, 0.5).toFixed(2)} ms before, ${percentile(meanwhile, 0.5).toFixed(2)} ms (99 %: ${percentile(meanwhile, 0.99).toFixed(1)}) meanwhile; ` +
        `the frozen node's in ${percentile(known, 0.5).toFixed(2)} ms (99 %: ${percentile(known, 0.99).toFixed(1)}, longest ${percentile(down, 1).toFixed(0)}); back ${(back - thawedAt).toFixed(0)} ms after it thawed`,
    );
  });
});
