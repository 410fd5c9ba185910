import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ClusterNode } from "./cluster-nodes.ts";
import type { RedisCluster } from "./redis-cluster.ts";
import { startCluster } from "./redis-cluster.ts";

describe("a test cluster", () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startCluster({ replicas: 1 });
  });
  afterAll(() => cluster?.stop());

  /** The reply of one node to a plain client; an error becomes its message. */
  async function send(node: ClusterNode, ...command: [string, ...string[]]): Promise<unknown> {
    const client = new Redis(node.port, "127.0.0.1", { protocol: 2 });
    const [name, ...args] = command;
    try {
      return await client.call(name, ...args);
    } catch (error) {
      return (error as Error).message;
    } finally {
      client.disconnect();
    }
  }

  test("serves every hash slot, and knows the node of a key", async () => {
    const primary = await cluster.nodeOf("key");
    const slot = await cluster.slotOf("key");
    expect(slot).toBe(12_539);
    expect(primary).toBe(cluster.nodes[2]);
    expect(await send(primary, "SET", "key", "value")).toBe("OK");
    expect(await send(cluster.nodes[0] as ClusterNode, "GET", "key")).toBe(
      `MOVED ${slot} 127.0.0.1:${primary.port}`,
    );
  });

  test("holds ASK and TRYAGAIN open, and ends a migration", async () => {
    const [first, second] = cluster.nodes as readonly [ClusterNode, ClusterNode];
    const slot = await cluster.slotOf("{b}");
    expect(await cluster.primaryOf(slot)).toBe(first);
    await send(first, "MSET", "{b}1", "one", "{b}2", "two");
    const migration = await cluster.beginMigration(slot, second);
    await migration.moveKeys(["{b}1"]);
    expect(await migration.keysLeft()).toEqual(["{b}2"]);
    expect(await send(first, "GET", "{b}2")).toBe("two");
    expect(await send(first, "GET", "{b}1")).toBe(`ASK ${slot} 127.0.0.1:${second.port}`);
    expect(await send(first, "MGET", "{b}1", "{b}2")).toMatch(/^TRYAGAIN/);
    await migration.moveAllKeys();
    await migration.finish();
    expect(await cluster.primaryOf(slot)).toBe(second);
    expect(await send(second, "MGET", "{b}1", "{b}2")).toEqual(["one", "two"]);
    await cluster.waitUntilReady();
    await cluster.migrate(slot, first);
    expect(await send(first, "MGET", "{b}1", "{b}2")).toEqual(["one", "two"]);
  });

  test("fails over from a primary that was killed, and takes it back", async () => {
    const slot = await cluster.slotOf("key");
    const primary = await cluster.primaryOf(slot);
    await primary.process.kill();
    const successor = await cluster.waitForFailover(slot, primary);
    expect(successor).toBe(cluster.replicaOf(primary));
    await primary.process.restart();
    await cluster.waitUntilReady();
    expect(await cluster.primaryOf(slot)).toBe(successor);
  });

  test("fails over from a frozen primary, which becomes a replica when it thaws", async () => {
    const slot = await cluster.slotOf("a");
    const primary = await cluster.primaryOf(slot);
    primary.process.freeze();
    const successor = await cluster.waitForFailover(slot, primary);
    primary.process.thaw();
    await cluster.waitUntilReady();
    expect(await cluster.primaryOf(slot)).toBe(successor);
  });
});
