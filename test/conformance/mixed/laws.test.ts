import type { Clock } from "@headgate/core";
import { memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import type { Cluster, Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectCluster } from "../../cluster/cluster-clients.ts";
import { countCalls } from "../../lease/count-calls.ts";
import type { Connection } from "../../redis/clients.ts";
import { useOwnDatabases } from "../../support/own-database.ts";
import type { RedisCluster } from "../../support/redis-cluster.ts";
import { startCluster } from "../../support/redis-cluster.ts";
import { historiesOf, runHistories, runsAllHistories } from "../random/histories.ts";
import type { Random } from "../random/random.ts";
import { MIXED_STEPS } from "./steps.ts";
import type { Features, Stores } from "./world.ts";
import { MixedWorld } from "./world.ts";

/*
 * All features work together in one world and keep the promises that each of them makes alone. Each kind of step checks its laws;
 * the end of a history checks the guarantee of its limits.
 */

/** On Redis each policy loads its own scripts, so there are few histories, and long ones. */
const LENGTH = 80;

const PLAIN: Features = {
  denyCache: false,
  leases: false,
  stepsBack: false,
  reference: false,
  slots: false,
  races: false,
};

/** The features of each world, by the title of its test. */
const WORLDS: Record<string, Features> = {
  "in one process": PLAIN,
  "with slots": { ...PLAIN, slots: true },
  "with a reference that is charged the real costs": { ...PLAIN, reference: true },
};
const SERVER_WORLDS: Record<string, Features> = {
  "with a deny cache": { ...PLAIN, denyCache: true },
  "with slots and a deny cache": { ...PLAIN, denyCache: true, slots: true },
  "with a deny cache and a reference that is charged the real costs": {
    ...PLAIN,
    denyCache: true,
    reference: true,
  },
  "with a clock that steps back": { ...PLAIN, stepsBack: true },
  "with leases": { ...PLAIN, denyCache: true, leases: true },
};
const CLUSTER_WORLDS: Record<string, Features> = {
  "over several hash slots": { ...PLAIN, denyCache: true, races: true },
  "with slots": { ...PLAIN, slots: true, races: true },
  "with a reference that is charged the real costs": { ...PLAIN, reference: true, races: true },
};

let opened = 0;

/** Declares the laws for one kind of store; each history starts with empty stores. */
function declare(
  worlds: Record<string, Features>,
  count: number,
  lanes: number,
  open: (clock: Clock) => Stores,
): void {
  test.each(Object.entries(worlds))("all laws hold %s", async (_, features) => {
    const steps = MIXED_STEPS.filter(({ isLeftOut }) => !isLeftOut?.(features));
    const seen = new Map(steps.map(({ name }) => [name, 0]));
    let cachedDenials = 0;
    const run = async (random: Random): Promise<void> => {
      const world = new MixedWorld(random, features, open);
      for (let step = 0; step < LENGTH; step += 1) {
        const tier = random.pick(world.tiers);
        await world.elapse(tier);
        const { name, run } = pickStep(random, steps);
        if (await run(world, tier)) seen.set(name, (seen.get(name) ?? 0) + 1);
        await world.claimNoMoreRoom(tier);
        await world.claimSlots(tier);
      }
      world.claimGuarantee();
      cachedDenials += world.cachedDenials;
      await world.close();
    };
    const histories = historiesOf(count, 40 * count);
    await runHistories(histories, run, lanes);
    if (!runsAllHistories) return;
    // Each kind of step must happen often enough to prove something.
    const least = histories / 5;
    for (const [name, times] of seen) expect(times, name).toBeGreaterThan(least);
    expect(cachedDenials, "cached denials").toBeGreaterThan(features.denyCache ? least : -1);
  });
}

function pickStep(random: Random, steps: typeof MIXED_STEPS) {
  let left = random.fraction() * steps.reduce((sum, { weight }) => sum + weight, 0);
  for (const step of steps) {
    left -= step.weight;
    if (left < 0) return step;
  }
  return steps[0] as (typeof MIXED_STEPS)[number];
}

/** The stores of two processes, each with a client of its own. */
function between(clients: readonly (Redis | Cluster)[], clock: Clock): Stores {
  const prefix = `mixed-${++opened}`;
  const [here, there] = clients.map((client) => countCalls(redisStore(client, { prefix, clock })));
  return {
    here: (here as typeof here & object).store,
    there: (there as typeof there & object).store,
    async settled() {
      await here?.settled();
      await there?.settled();
    },
  };
}

describe("in memory", () => {
  declare(WORLDS, 30, 1, (clock) => {
    const store = memoryStore({ clock });
    return { here: store, there: store, settled: async () => {} };
  });
});

describe("on Redis", () => {
  const clients = useOwnDatabases(2);
  declare(SERVER_WORLDS, 12, 32, (clock) => between(clients, clock));
});

describe("on a cluster", () => {
  let cluster: RedisCluster;
  let connections: readonly Connection[];
  beforeAll(async () => {
    cluster = await startCluster();
    connections = await Promise.all(
      [1, 2].map(() => connectCluster["ioredis 6"](cluster.addresses)),
    );
  });
  afterAll(async () => {
    await Promise.all((connections ?? []).map((connection) => connection.close()));
    await cluster?.stop();
  });
  declare(CLUSTER_WORLDS, 7, 16, (clock) =>
    between(
      connections.map(({ client }) => client as Cluster),
      clock,
    ),
  );
});
