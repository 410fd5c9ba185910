import type { RedisCluster } from "../../support/redis-cluster.ts";
import { startCluster } from "../../support/redis-cluster.ts";
import { HOT } from "../load.ts";
import type { Fault, Target } from "./fault.ts";

interface ClusterTarget extends Target {
  readonly cluster: RedisCluster;
}

export const clusterFailover: Fault<ClusterTarget> = {
  name: "cluster failover",
  title: "one primary of three killed, its replica takes over",
  async start() {
    const cluster = await startCluster({ replicas: 1 });
    return {
      place: { kind: "cluster", ports: cluster.addresses.map(({ port }) => port) },
      cluster,
      close: () => cluster.stop(),
    };
  },
  async breakIt({ cluster }) {
    const slot = await cluster.slotOf(`{${HOT}}`);
    const primary = await cluster.primaryOf(slot);
    await primary.process.kill();
    return async () => {
      await cluster.waitForFailover(slot, primary);
    };
  },
  forgets: "last writes",
  degrades: "hot",
  isOutage: true,
};
