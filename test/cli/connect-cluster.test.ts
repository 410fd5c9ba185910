import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { createLimiter, gcra } from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Cluster } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { startRedis } from "../support/redis-process.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { runCli } from "./run-cli.ts";

let cluster: RedisCluster;
let close: () => Promise<void>;

beforeAll(async () => {
  // Servers that a busy machine does not let run for a second are not down.
  cluster = await startCluster({ nodeTimeoutMs: 5_000 });
  const client = new Cluster([...cluster.addresses]);
  const store = redisStore(client);
  const limits = gcra({ limit: 5, window: "1m" });
  const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "10s" });
  await writeRegistry(store);
  await createAdmin(store).setOverride({ limiter: "api", shadow: true });
  close = async () => {
    await limiter.close();
    client.disconnect();
  };
});

afterAll(async () => {
  await close();
  await cluster.stop();
});

const urlOf = (...ports: readonly number[]) =>
  `redis://${ports.map((port) => `127.0.0.1:${port}`).join(",")}`;

test("the command connects to the whole cluster through any node, with or without --cluster", async () => {
  for (const { port } of cluster.nodes) {
    for (const more of [[], ["--cluster"]]) {
      const { exitCode, stdout, stderr } = await runCli([
        ...["limiters", "--json", "--redis", urlOf(port)],
        ...more,
      ]);
      expect([exitCode, stderr]).toEqual([0, ""]);
      const { limiters, overrides } = JSON.parse(stdout);
      expect(limiters).toMatchObject([{ name: "api" }]);
      expect(overrides).toMatchObject([{ limiter: "api", shadow: true }]);
    }
  }
});

test("the command connects to the first of several hosts that answers", async () => {
  const [first] = cluster.nodes;
  const url = urlOf(1, 2, 3, first?.port ?? 0);
  const all = await Promise.all(
    Array.from({ length: 5 }, () => runCli(["limiters", "--redis", url])),
  );
  for (const { exitCode, stdout, stderr } of all) {
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout.split("\n")[1]).toMatch(/^api /);
  }
});

test("the command does not connect to the hosts after the first that answers", async () => {
  const [first] = cluster.nodes;
  let connections = 0;
  const silent = createServer(() => {
    connections += 1;
  }).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  for (let i = 0; i < 5; i += 1) {
    const { exitCode } = await runCli(["limiters", "--redis", urlOf(first?.port ?? 0, port)]);
    expect(exitCode).toBe(0);
  }
  expect(connections).toBe(0);
  silent.close();
});

test("the command rejects --cluster or several hosts for a single server, and a database other than 0 for a cluster", async () => {
  const [first] = cluster.nodes;
  const database = await runCli(["log", "--cluster", "--redis", `${urlOf(first?.port ?? 0)}/1`]);
  expect([database.exitCode, database.stderr]).toEqual([2, expect.stringContaining("database 0")]);
  const alone = await startRedis({ port: true });
  const wrong = await runCli(["log", "--cluster", "--redis", urlOf(alone.port)]);
  expect(wrong.stderr).toMatch(/is not a cluster: leave out --cluster\n$/);
  const several = await runCli(["log", "--redis", urlOf(alone.port, alone.port)]);
  expect(several.stderr).toMatch(
    /is not a cluster: give one host, because only a cluster or --sentinel NAME accepts several/,
  );
  expect([wrong.exitCode, several.exitCode]).toEqual([3, 3]);
  await alone.stop();
});

test("the error for a user who may not list the cluster's nodes names the missing command", async () => {
  const acl = [
    "SETUSER",
    "reader",
    "on",
    ">s3cret",
    "~hg:*",
    "-@all",
    "+evalsha",
    "+eval",
    "+get",
    "+strlen",
    "+zcard",
    "+zrange",
  ];
  for (const { admin } of cluster.nodes) await admin.command("ACL", ...acl);
  const url = urlOf(...cluster.nodes.map(({ port }) => port));
  const args = ["limiters", "--redis", url, "--user", "reader"];
  const environment = { REDISCLI_AUTH: "s3cret" };
  const refused = await runCli(args, { environment });
  expect(refused.stderr).toMatch(/^headgate: .*may not run CLUSTER\|SLOTS: .*\n$/);
  expect(refused.exitCode).toBe(3);
  for (const { admin } of cluster.nodes)
    await admin.command("ACL", "SETUSER", "reader", "+cluster|slots");
  expect((await runCli(args, { environment })).stdout).toMatch(/^LIMITER/);
});
