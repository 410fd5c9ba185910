import { afterEach, test } from "vitest";
import type { ClusterNode } from "../support/cluster-nodes.ts";
import { lostPrimaries } from "../support/lost-primaries.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { connectCluster, currentClusterClients } from "./cluster-clients.ts";
import { outlastFailover } from "./outlast-failover.ts";
import { subjectsOf } from "./subjects-of.ts";

let cluster: RedisCluster | undefined;
afterEach(async () => {
  await cluster?.stop();
});

test.each(lostPrimaries(currentClusterClients))(
  "a replica takes over from a primary that was $fault, through $library: decisions come in time, stay within the bound, and return to normal",
  async ({ library, fault }) => {
    const started = await startCluster({ replicas: 1 });
    cluster = started;
    const { client, close } = await connectCluster[library](started.addresses);
    const [primary, other] = started.nodes as [ClusterNode, ClusterNode];
    const subjects = await subjectsOf(started, primary, 4);
    const others = await subjectsOf(started, other, 2);
    const slot = await started.slotOf(subjects[0] as string);
    const { since, reported } = await outlastFailover({
      client,
      subjects,
      others,
      fault,
      primary: primary.process,
      takenOver: () => started.waitForFailover(slot, primary),
      recoveryMs: 10_000,
    });
    await close();

    const ofOthers = since.filter(({ subject }) => others.includes(subject));
    const degraded = ofOthers.filter(({ decision }) => decision.degraded).length;
    console.log(
      `${library}, ${fault}: ${reported}; other node's subjects degraded ${degraded} of ${ofOthers.length}`,
    );
  },
);
