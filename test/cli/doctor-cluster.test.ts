import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Cluster, Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { waitUntil } from "../support/wait-until.ts";
import { issuesOf, paste, runDoctor } from "./run-doctor.ts";

let cluster: RedisCluster;
let at: string;
let port: number;

beforeAll(async () => {
  cluster = await startCluster({ requireFullCoverage: true });
  port = cluster.nodes[0]?.port as number;
  at = `redis://127.0.0.1:${port}`;
});
afterAll(() => cluster.stop());

const addresses = () => cluster.nodes.map((node) => `127.0.0.1:${node.port}`).sort();

/** Makes a decision for each of many subjects, and returns the number that Redis made. */
async function decide(client: Redis | Cluster): Promise<number> {
  const limits = gcra({ limit: 5, window: "1m" });
  const store = redisStore(client);
  const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "10s" });
  const subjects = Array.from({ length: 300 }, (_, i) => `subject-${i}`);
  const decisions = await Promise.all(subjects.map((subject) => limiter.consume(subject)));
  await limiter.close();
  client.disconnect();
  return decisions.filter(({ source }) => source === "store").length;
}

test("headgate doctor checks each server of a cluster, and finds no issues in a healthy one", async () => {
  const healthy = await runDoctor(at, "--cluster");
  expect(issuesOf(healthy)).toEqual([]);
  expect(healthy.exitCode).toBe(0);
  expect(healthy.worst("version").servers).toEqual(addresses());
  expect(healthy.worst("cluster").message).toMatch(
    /^cluster_state ok, 3 shards, calls of a server share scripts; \S+ has no replica$/,
  );
});

test("headgate doctor warns about redirected calls of a client for a single server", async () => {
  expect(await decide(new Redis(port))).toBeLessThan(200);
  const sent = await runDoctor(at, "--cluster");
  expect(sent.worst("cluster")).toMatchObject({
    status: "warning",
    message: expect.stringMatching(/\d+ calls redirected \(MOVED\), and \d+ EVALSHA$/),
    servers: [`127.0.0.1:${port}`],
  });
  expect(sent.worst("cluster").fix).toContain("new Cluster(...)");
  // As the fix recommends.
  for (const { admin } of cluster.nodes) await admin.command("CONFIG", "RESETSTAT");
  expect(await decide(new Cluster([{ host: "127.0.0.1", port }]))).toBe(300);
  expect(issuesOf(await runDoctor(at, "--cluster"))).toEqual([]);
});

test("headgate doctor prints the command that assigns hash slots without a server", async () => {
  for (const { admin } of cluster.nodes) await admin.command("CLUSTER", "DELSLOTSRANGE", 0, 4);
  const uncovered = await runDoctor(at, "--cluster");
  expect(uncovered.worst("cluster")).toMatchObject({
    status: "problem",
    message: expect.stringContaining("5 hash slots without a server"),
  });
  // Each server has a command; one of them gets the slots.
  const command = uncovered.worst("cluster").commands?.find((text) => text.includes(`-p ${port} `));
  expect(command).toContain("CLUSTER ADDSLOTSRANGE 0 4");
  await paste([command as string]);
  await cluster.waitUntilReady();
  await waitUntil("the cluster is in order", 10_000, async () =>
    issuesOf(await runDoctor(at, "--cluster")).length === 0 ? true : undefined,
  );
});

test("headgate doctor reports a cluster's server that is down as a problem", async () => {
  const last = cluster.nodes[2];
  await last?.process.kill();
  await waitUntil("the others noticed", 10_000, async () => {
    const info = String(await cluster.nodes[0]?.admin.command("CLUSTER", "INFO"));
    return info.includes("cluster_state:fail") ? true : undefined;
  });
  const without = await runDoctor(at, "--cluster");
  expect(without.worst("servers")).toMatchObject({
    status: "problem",
    message: expect.stringMatching(/^a primary does not answer: .*ECONNREFUSED/),
    servers: [`127.0.0.1:${last?.port}`],
  });
  expect(without.worst("cluster")).toMatchObject({
    status: "problem",
    message: expect.stringMatching(
      /^cluster_state fail, 3 shards.*, \d+ hash slots without a reachable server/,
    ),
  });
});
