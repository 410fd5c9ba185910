import type { Duration } from "@headgate/core";
import { createLimiter, gcra, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import * as nodeRedis from "redis";
import * as nodeRedis5 from "redis5";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { watchWarnings } from "../http/support/warnings.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { waitUntil } from "../support/wait-until.ts";
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

const rootNodesOf = (addresses: RedisCluster["addresses"]) =>
  addresses.map(({ host, port }) => ({ url: `redis://${host}:${port}` }));

const createClusterOf = {
  "node-redis 6": (addresses: RedisCluster["addresses"]) =>
    nodeRedis.createCluster({ rootNodes: rootNodesOf(addresses) }),
  "node-redis 5": (addresses: RedisCluster["addresses"]) =>
    nodeRedis5.createCluster({ rootNodes: rootNodesOf(addresses) }),
};

describe.each(["node-redis 6", "node-redis 5"] as const)("a cluster client of %s", (library) => {
  function start(options: { readonly connectTimeout?: Duration } = {}) {
    const client = createClusterOf[library](cluster.addresses);
    client.on("error", () => {});
    onTestFinished(() => {
      if (client.isOpen) client.destroy();
    });
    const store = redisStore(client, { registry: false });
    const limiter = createLimiter({ name: "connecting", limits, store, ...options });
    onTestFinished(() => limiter.close());
    return { client, limiter };
  }

  test("ready waits until it has connected", async () => {
    const { client, limiter } = start({ connectTimeout: "30s" });
    void client.connect();
    expect(await limiter.ready()).toBe(true);
    expect(await limiter.consume({ ip: "a", user: "b" })).toMatchObject({ source: "store" });
  });

  test("decides its first requests in the store although it is still connecting", async () => {
    const { client, limiter } = start({ connectTimeout: "30s" });
    void client.connect();
    const ips = Array.from({ length: 20 }, (_, i) => `ip-${i}`);
    const decisions = await Promise.all(ips.map((ip) => limiter.consume({ ip, user: "b" })));
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(["store"]));
  });

  test("is called unavailable, for that reason, before its connect() is called", async () => {
    const warnings = watchWarnings();
    const { limiter } = start();
    expect(await limiter.ready()).toBe(false);
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings.map(({ message }) => message).join()).toContain(
      "the cluster client is not open: call connect()",
    );
  });

  test("is called unavailable after connectTimeout if no server answers", async () => {
    watchWarnings();
    const { client, limiter } = start({ connectTimeout: 300 });
    for (const { process } of cluster.nodes) process.freeze();
    onTestFinished(() => {
      for (const { process } of cluster.nodes) process.thaw();
    });
    void client.connect().catch(() => {});
    expect(await limiter.ready()).toBe(false);
    for (const { process } of cluster.nodes) process.thaw();
    await waitUntil("the store decides", 20_000, async () => {
      const { source } = await limiter.consume({ ip: "a", user: "b" });
      return source === "store" || undefined;
    });
  });
});
