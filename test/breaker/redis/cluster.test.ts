import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connectCluster, currentClusterClients } from "../../cluster/cluster-clients.ts";
import { subjectsOf } from "../../cluster/subjects-of.ts";
import { watchWarnings } from "../../http/support/warnings.ts";
import type { ClusterNode } from "../../support/cluster-nodes.ts";
import { lostPrimaries } from "../../support/lost-primaries.ts";
import type { RedisCluster } from "../../support/redis-cluster.ts";
import { startCluster } from "../../support/redis-cluster.ts";
import { surviveFailover } from "./survive-failover.ts";

const SPREAD = 300;

let cluster: RedisCluster | undefined;
beforeEach(() => void watchWarnings());
afterEach(async () => {
  await cluster?.stop();
});

test.each(lostPrimaries(currentClusterClients))(
  "with $library, a $fault primary degrades its own targets only",
  async ({ library, fault }) => {
    const started = await startCluster({ replicas: 1 });
    cluster = started;
    const { client, close } = await connectCluster[library](started.addresses);
    await countOnAllSlots(client, started);

    const [primary, ...rest] = started.nodes.slice(0, 3) as [ClusterNode, ...ClusterNode[]];
    const targets = await subjectsOf(started, primary, 6);
    const others = (await Promise.all(rest.map((node) => subjectsOf(started, node, 3)))).flat();
    const slot = await started.slotOf(targets[0] as string);
    const reported = await surviveFailover({
      client,
      targets,
      others,
      fault,
      primary: primary.process,
      takenOver: () => started.waitForFailover(slot, primary),
      recoveryMs: 10_000,
    });
    await close();
    console.log(`${library}, ${fault}: ${reported}`);
  },
);

/** Both keys of each target are where its slot is, wherever that is: none is redirected or refused. */
async function countOnAllSlots(
  client: Parameters<typeof redisStore>[0],
  { nodes }: RedisCluster,
): Promise<void> {
  const breaker = createBreaker({
    name: "spread",
    store: redisStore(client),
    storeTimeout: "1m",
    minimumCalls: 1,
    flushInterval: 0,
  });
  const targets = Array.from({ length: SPREAD }, (_, i) => `{target} ${i}`);
  const opened = await Promise.all(
    targets.map(async (name) => {
      const target = breaker.for(name);
      await target.record("failure");
      return target.snapshot();
    }),
  );
  for (const snapshot of opened) expect(snapshot).toMatchObject({ state: "open", degraded: false });
  await breaker.close();
  const sizes = [];
  for (const node of nodes.filter(({ startedAs }) => startedAs === "primary")) {
    const admin = new Redis(node.port, "127.0.0.1");
    const keys = (await admin.keys("*spread*")).map((key) => key.slice(0, key.indexOf("}")));
    expect(keys).toHaveLength(2 * new Set(keys).size);
    sizes.push(keys.length / 2);
    admin.disconnect();
  }
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(SPREAD);
  expect(Math.min(...sizes)).toBeGreaterThan(SPREAD / 10);
}
