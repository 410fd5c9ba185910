import type { RedisCluster } from "../../support/redis-cluster.ts";
import { startCluster } from "../../support/redis-cluster.ts";
import { HOT } from "../load.ts";
import type { Fault, Target } from "./fault.ts";
import { killOrFreeze } from "./kill-or-freeze.ts";

interface ClusterTarget extends Target {
  readonly cluster: RedisCluster;
}

export const clusterFailover: Fault<ClusterTarget> = {
  name: "cluster failover",
  title: "one primary of three killed or frozen, its replica takes over",
  async start() {
    const cluster = await startCluster({ replicas: 1 });
    return {
      endpoint: { kind: "cluster", ports: cluster.addresses.map(({ port }) => port) },
      cluster,
      close: () => cluster.stop(),
    };
  },
  isBrief: true,
  async inject({ cluster }, random) {
    const slot = await cluster.slotOf(`{${HOT}}`);
    const primary = await cluster.primaryOf(slot);
    await killOrFreeze(primary.process, random);
    return async () => {
      await cluster.waitForFailover(slot, primary);
    };
  },
  loses: "last writes",
  degrades: "hot",
  isOutage: true,
};
