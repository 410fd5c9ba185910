import { setTimeout as delay } from "node:timers/promises";
import type { DegradedDecision, Limiter } from "@headgate/core";
import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { watchWarnings } from "../http/support/warnings.ts";
import { degradedDuring } from "../redis/degraded-decisions.ts";
import type { ClusterNode } from "../support/cluster-nodes.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { waitUntil } from "../support/wait-until.ts";
import { connectCluster, currentClusterClients } from "./cluster-clients.ts";
import { subjectsOf } from "./subjects-of.ts";

/** Longer than the default, for a machine that does other things as well. */
const STORE_TIMEOUT_MS = 250;

/** Little traffic: nothing else shows meanwhile that the server is well. */
const PAUSE_MS = 100;

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());
beforeEach(() => void watchWarnings());

/** Takes a hash slot from its owner, on every node. */
async function loseSlot(slot: number, owner: ClusterNode): Promise<void> {
  const others = cluster.nodes.filter((node) => node !== owner);
  await waitUntil("no server has the hash slot", 5_000, async () => {
    for (const node of [owner, ...others]) {
      // Those that know already say that it is unassigned.
      await node.admin.command("CLUSTER", "DELSLOTS", slot).catch(() => {});
    }
    for (const node of cluster.nodes) await checkLost(slot, node);
    return true;
  });
}

async function checkLost(slot: number, { admin, port }: ClusterNode): Promise<void> {
  const ranges = (await admin.command("CLUSTER", "SLOTS")) as [first: number, last: number][];
  if (ranges.some(([first, last]) => first <= slot && slot <= last)) {
    throw new Error(`port ${port} knows an owner of slot ${slot}`);
  }
}

describe.each(currentClusterClients)("a hash slot without a server, through %s", (library) => {
  async function start() {
    const { client, close } = await connectCluster[library](cluster.addresses);
    const limiter = createLimiter({
      name: library,
      limits: gcra({ limit: 1_000, window: "1h" }),
      store: redisStore(client),
      storeTimeout: STORE_TIMEOUT_MS,
      denyCache: false,
    }) as Limiter;
    onTestFinished(async () => {
      await limiter.close();
      await close();
    });
    const node = cluster.nodes[0] as ClusterNode;
    const [lost, ...fine] = (await subjectsOf(cluster, node, 4)) as [string, ...string[]];
    for (const subject of [lost, ...fine]) {
      expect(await limiter.consume(subject)).toMatchObject({ source: "store" });
    }
    await loseSlot(await cluster.slotOf(lost), node);
    return { limiter, lost, fine };
  }

  test("a hash slot without a server degrades only its own subjects, and its former server's others recover within a second", async () => {
    const { limiter, lost, fine } = await start();
    const requestLostSlot = async (): Promise<DegradedDecision> => {
      const [degraded] = await degradedDuring(() => limiter.consume(lost));
      if (degraded === undefined) throw new Error("a hash slot without a server was served");
      return degraded;
    };
    const { decision, reason } = await requestLostSlot();
    expect(decision).toMatchObject({ allowed: true, source: "local" });
    if (library === "node-redis 6") {
      expect(reason.code).toBe("HEADGATE_HASH_SLOT_UNAVAILABLE");
      expect(reason.message).not.toContain(lost);
    }
    const [, ...together] = await Promise.all([lost, ...fine].map((one) => limiter.consume(one)));
    if (library === "node-redis 6") {
      expect(together.map(({ source }) => source)).toEqual(fine.map(() => "store"));
    }
    // ioredis tries again until it is late, and its server is taken to be down for a moment.
    const since = performance.now();
    const decisions: { readonly at: number; readonly source: string }[] = [];
    while (performance.now() - since < 1_500) {
      for (const subject of fine) {
        const { source } = await limiter.consume(subject);
        decisions.push({ at: performance.now() - since, source });
      }
      await delay(PAUSE_MS);
    }
    const last = decisions.findLast(({ source }) => source !== "store");
    if (library === "node-redis 6") expect(last).toBeUndefined();
    expect(last?.at ?? 0).toBeLessThan(1_000);
    expect((await requestLostSlot()).decision.source).toBe("local");
  });
});
