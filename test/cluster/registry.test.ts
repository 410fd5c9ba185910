import { createLimiter, gcra } from "@headgate/core";
import { readRegistry } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { clusterClientNames, connectCluster } from "./cluster-clients.ts";

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());

test.each(clusterClientNames)(
  "a registry on a cluster is in one slot, seen through %s",
  async (library) => {
    const { client, close } = await connectCluster[library](cluster.addresses);
    onTestFinished(async () => void (await close()));
    const prefix = `registry-${clusterClientNames.indexOf(library)}`;
    const store = redisStore(client, { prefix });
    const limits = gcra({ limit: 5, window: "1m" });
    const limiters = Array.from({ length: 200 }, (_, i) =>
      createLimiter({ name: `limiter ${i}`, store, limits }),
    );
    await writeRegistry(store);
    const { limiters: listed, processes, unreadable } = await readRegistry(store);
    expect(listed).toHaveLength(200);
    expect(processes).toHaveLength(1);
    expect(unreadable).toEqual([]);
    const holding = await cluster.nodeOf(`${prefix}:{registry}`);
    for (const node of cluster.nodes) {
      const keys = (await node.admin.command("KEYS", `${prefix}:*`)) as readonly string[];
      expect(keys).toHaveLength(node === holding ? 202 : 0);
    }
    await Promise.all(limiters.map((limiter) => limiter.close()));
    expect((await readRegistry(store)).processes).toEqual([]);
  },
);
