import { createLimiter, gcra, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { connectCluster, currentClusterClients } from "./cluster-clients.ts";
import { subjectOnEach } from "./subjects-of.ts";

/** Unlike each other, so that each dimension has scripts of its own. */
const limits = [
  gcra({ limit: 100, window: "1h", per: "ip" }),
  slidingLog({ limit: 100, window: "1h", per: "user" }),
];

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster.stop());

beforeEach(async () => {
  for (const { admin } of cluster.nodes) {
    await admin.command("SCRIPT", "FLUSH");
    await admin.command("FLUSHALL");
  }
});

/** How many scripts came with their text, to all servers. */
async function texts(): Promise<number> {
  const infos = await Promise.all(
    cluster.nodes.map(({ admin }) => admin.command("INFO", "commandstats")),
  );
  const calls = infos.map((info) => /^cmdstat_eval:calls=(\d+)/m.exec(String(info))?.[1] ?? 0);
  return calls.reduce<number>((sum, count) => sum + Number(count), 0);
}

test.each(currentClusterClients)(
  "ready loads the scripts of all dimensions on each server, and writes nothing, through %s",
  async (library) => {
    const { client, close } = await connectCluster[library](cluster.addresses);
    onTestFinished(async () => void (await close()));
    const limiter = createLimiter({
      name: "api",
      limits,
      store: redisStore(client, { registry: false }),
      storeTimeout: "30s",
      denyCache: false,
    });
    onTestFinished(() => limiter.close());
    expect(await limiter.ready()).toBe(true);
    for (const { admin } of cluster.nodes) expect(await admin.command("DBSIZE")).toBe(0);
    const loaded = await texts();
    expect(loaded).toBeGreaterThan(0);
    for (const ip of await subjectOnEach(cluster)) {
      for (const user of await subjectOnEach(cluster)) {
        expect(await limiter.consume({ ip, user })).toMatchObject({ source: "store" });
      }
    }
    expect(await texts()).toBe(loaded);
  },
);
