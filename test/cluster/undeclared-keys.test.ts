import type { Limit, Limiter } from "@headgate/core";
import { createLimiter, fixedWindow, slidingLog } from "@headgate/core";
import type { RedisClient } from "@headgate/core/redis";
import { redisStore } from "@headgate/core/redis";
import { Cluster } from "ioredis";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { connectCluster, currentClusterClients } from "./cluster-clients.ts";

/** Subjects in as many hash slots of three servers. */
const SUBJECTS = Array.from({ length: 90 }, (_, i) => `subject-${i}`);
const window = "7d";
const LIMIT = 5;

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());

function limiterOf(
  client: RedisClient,
  name: string,
  limit: Limit = fixedWindow({ limit: LIMIT, window }),
) {
  const limiter = createLimiter({
    name,
    limits: limit,
    store: redisStore(client),
    storeTimeout: "30s",
    denyCache: false,
  });
  onTestFinished(() => limiter.close());
  return limiter as Limiter;
}

async function openIoredis(
  options: ConstructorParameters<typeof Cluster>[1] & object,
): Promise<Cluster> {
  const client = new Cluster([...cluster.addresses], options);
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  await client.ping();
  return client;
}

/** Decides about all subjects at once. Returns how many units each has left. */
async function consumeAll(limiter: Limiter): Promise<readonly number[]> {
  const decisions = await Promise.all(SUBJECTS.map((subject) => limiter.consume(subject)));
  expect(decisions.filter(({ source }) => source !== "store")).toEqual([]);
  return decisions.map(({ remaining }) => remaining);
}

function leftByAll(units: number): readonly number[] {
  return SUBJECTS.map(() => units);
}

/** Counts the scripts that the servers run meanwhile, and those of them that fail. */
async function scriptsDuring(action: () => Promise<unknown>) {
  for (const { admin } of cluster.nodes) await admin.command("CONFIG", "RESETSTAT");
  await action();
  const scripts = { run: 0, failed: 0 };
  for (const { admin } of cluster.nodes) {
    const info = String(await admin.command("INFO", "commandstats"));
    const [, run = 0, failed = 0] =
      /cmdstat_evalsha:calls=(\d+),.*failed_calls=(\d+)/.exec(info) ?? [];
    scripts.run += Number(run);
    scripts.failed += Number(failed);
  }
  return scripts;
}

test.for(currentClusterClients)(
  "decisions about subjects of one server share scripts, whatever their hash slots, through %s",
  async (library) => {
    const { client, close } = await connectCluster[library](cluster.addresses);
    onTestFinished(async () => void (await close()));
    const limiter = limiterOf(client, `shared ${library}`);
    // GLIDE knows the servers of the hash slots after the first decision.
    expect(await consumeAll(limiter)).toEqual(leftByAll(LIMIT - 1));
    expect(await consumeAll(limiter)).toEqual(leftByAll(LIMIT - 2));
    const { run, failed } = await scriptsDuring(async () => {
      expect(await consumeAll(limiter)).toEqual(leftByAll(LIMIT - 3));
    });
    expect(failed).toBe(0);
    expect(run).toBeLessThanOrEqual(SUBJECTS.length / 10);
  },
);

test("decisions of a slidingLog, which writes while it decides, share no script across hash slots", async () => {
  const limiter = limiterOf(await openIoredis({}), "log", slidingLog({ limit: LIMIT, window }));
  expect(await consumeAll(limiter)).toEqual(leftByAll(LIMIT - 1));
  const { run } = await scriptsDuring(() => consumeAll(limiter));
  expect(run).toBeGreaterThanOrEqual(SUBJECTS.length);
});

test("a server that refuses scripts with undeclared keys is asked once, and then decides by hash slot, counting each unit once", async () => {
  for (const { admin } of cluster.nodes) {
    await admin.command(
      "ACL",
      "SETUSER",
      "narrow",
      "on",
      ">secret",
      "~*",
      "&*",
      "+@all",
      "-exists",
    );
  }
  const redisOptions = { username: "narrow", password: "secret" };
  const limiter = limiterOf(await openIoredis({ redisOptions }), "refused");
  expect(await consumeAll(limiter)).toEqual(leftByAll(LIMIT - 1));
  const { run, failed } = await scriptsDuring(async () => {
    expect(await consumeAll(limiter)).toEqual(leftByAll(LIMIT - 2));
  });
  expect(run).toBeGreaterThanOrEqual(SUBJECTS.length);
  expect(failed).toBe(0);
});

test.for(["shop:", "{shop}:"])(
  "ioredis' key prefix %s also applies to keys that a script does not declare",
  async (keyPrefix) => {
    const name = `prefix ${keyPrefix}`;
    const limiter = limiterOf(await openIoredis({ keyPrefix }), name);
    expect(await consumeAll(limiter)).toEqual(leftByAll(LIMIT - 1));
    const { run } = await scriptsDuring(async () => {
      expect(await consumeAll(limiter)).toEqual(leftByAll(LIMIT - 2));
    });
    expect(run).toBeLessThanOrEqual(SUBJECTS.length / 10);
    const alone = limiterOf(await openIoredis({ keyPrefix }), name);
    for (const subject of SUBJECTS.slice(0, 5)) {
      expect((await alone.consume(subject)).remaining).toBe(LIMIT - 3);
    }
  },
);
