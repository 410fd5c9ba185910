import { createLimiter, fixedWindow } from "@headgate/core";
import { createAdmin, readUsage } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Cluster } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RedisCluster } from "../../support/redis-cluster.ts";
import { startCluster } from "../../support/redis-cluster.ts";
import { sendUsage } from "../../support/send-usage.ts";
import { writeRegistry } from "../../support/write-registry.ts";
import type { Ended } from "../run-cli.ts";
import { runCli } from "../run-cli.ts";

const HOUR = fixedWindow({ limit: 3, window: "1h" });
const ADDRESS = "198.51.100.5";
/** Two that count a subject alone, and one that counts an account and an address, whose counters are in two slots. */
const LIMITERS = [
  { name: "api", limits: HOUR },
  { name: "web", limits: HOUR },
  {
    name: "login",
    limits: [
      fixedWindow({ limit: 3, window: "1h", per: "account" }),
      fixedWindow({ limit: 9, window: "1h", per: "ip" }),
    ],
  },
];
const BOTH = { account: "ann", ip: ADDRESS };
const PAIR = ["--limiter", "login", "--subject", "account=ann", "--subject", `ip=${ADDRESS}`];

let cluster: RedisCluster;
let client: Cluster;
let close: () => Promise<void>;

beforeAll(async () => {
  cluster = await startCluster();
  client = new Cluster([...cluster.addresses]);
  const store = redisStore(client, { usage: { subjects: "plain" } });
  const limiters = LIMITERS.map((one) =>
    createLimiter({ ...one, store, storeTimeout: "10s", denyCache: false }),
  );
  for (const limiter of limiters) {
    for (const subject of ["ann", ADDRESS]) {
      await limiter.consume(limiter.name === "login" ? (BOTH as never) : subject);
    }
  }
  await writeRegistry(store);
  await sendUsage(store);
  close = async () => {
    for (const limiter of limiters) await limiter.close();
    client.disconnect();
  };
});

afterAll(async () => {
  await close();
  await cluster.stop();
});

/** Runs the command on one node. */
async function run(...args: readonly string[]): Promise<Ended> {
  const url = `redis://127.0.0.1:${cluster.addresses[0]?.port}`;
  const ended = await runCli([...args, "--redis", url]);
  expect([ended.exitCode, ended.stderr]).toEqual([0, ""]);
  return ended;
}

const operator = () => createAdmin(redisStore(client));

/** Every key of all primaries, with the node that has it. */
async function keysByNode(): Promise<readonly (readonly string[])[]> {
  return Promise.all(client.nodes("master").map((node) => node.keys("*")));
}

test("the counters of the cluster suite are on all three nodes", async () => {
  expect((await keysByNode()).map((keys) => keys.length > 0)).toEqual([true, true, true]);
  const slots = [ADDRESS, "ann"].map((subject) => cluster.slotOf(`hg:{${subject}}`));
  expect(new Set(await Promise.all(slots)).size).toBe(2);
});

test("inspect reads every limiter of a cluster, and counters in several hash slots", async () => {
  const everywhere = JSON.parse((await run("inspect", "ann", "--json")).stdout);
  expect(everywhere).toMatchObject({
    limiters: [
      { limiter: "api", limits: [{ remaining: 2 }] },
      { limiter: "web", limits: [{ remaining: 2 }] },
    ],
    skipped: [{ limiter: "login" }],
  });
  const { stdout } = await run("inspect", ...PAIR);
  expect(stdout).toContain("3-per-1h: 2 of 3 used");
  expect(stdout).toContain("9-per-1h: 2 of 9 used");
});

test("block, unblock and reset change every limiter of a cluster, and counters in several hash slots", async () => {
  const blocked = await run("block", "ann", "1h", "--all", "--yes", "--reason", "flood");
  expect(blocked.stdout.match(/now: blocked until/g)).toHaveLength(2);
  await run("block", "1h", ...PAIR);
  for (const { name, limits } of LIMITERS) {
    const subject = name === "login" ? BOTH : "ann";
    const { blocks } = await operator().inspect({ name, limits }, subject);
    expect(blocks.map(({ per }) => per)).toEqual(
      name === "login" ? ["account", "ip"] : ["default"],
    );
  }
  await run("unblock", "ann", "--all", "--yes");
  await run("unblock", ...PAIR);
  const { stdout } = await run("reset", ...PAIR, "--json");
  expect(JSON.parse(stdout)).toMatchObject({
    done: [
      {
        before: { blocked: false, limits: [{ remaining: 1 }, { remaining: 7 }] },
        after: { limits: [{ remaining: 3 }, { remaining: 9 }] },
      },
    ],
  });
});

test("set and unset change the overrides of a cluster, and the log lists every action", async () => {
  await run("set", "--limiter", "api", "--subject", "ann", "3-per-1h.limit=9", "--for", "2h");
  expect((await run("explain", "ann", "--limiter", "api", "--cost", "5")).stdout).toContain(
    "would be allowed now",
  );
  await run("set", "--limiter", "web", "--shadow", "on", "--yes");
  await run("unset", "--limiter", "web", "--yes");
  expect((await operator().readControl()).overrides).toMatchObject([{ limiter: "api" }]);
  const { entries } = JSON.parse((await run("log", "--json")).stdout);
  expect(
    entries.map(({ kind, limiter }: { kind: string; limiter: string }) => [kind, limiter]),
  ).toEqual([
    ["unsetOverride", "web"],
    ["setOverride", "web"],
    ["setOverride", "api"],
    ["reset", "login"],
    ["unblock", "login"],
    ["unblock", "web"],
    ["unblock", "api"],
    ["block", "login"],
    ["block", "web"],
    ["block", "api"],
  ]);
});

test("forget erases a subject in a whole cluster: counters, override, usage and the name in the log", async () => {
  const { stdout } = await run("forget", "ann", "--yes");
  expect(stdout).toContain("override removed: 3-per-1h: limit 9; for ann");
  expect(stdout.match(/name removed from 1 usage list/g)).toHaveLength(2);
  await run("forget", ...PAIR);
  expect((await keysByNode()).flat().filter((key) => key.includes("ann"))).toEqual([]);
  expect((await run("log", "--json")).stdout).not.toContain('"ann"');
  const { limiters } = await readUsage(client);
  const left = limiters.map(({ name, subjects }) => [
    name,
    subjects.used.top.map((one) => one.subject),
  ]);
  expect(left).toEqual([
    ["api", [ADDRESS]],
    ["login", []],
    ["web", [ADDRESS]],
  ]);
});
