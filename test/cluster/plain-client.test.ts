import type { Decision, Limiter } from "@headgate/core";
import { createLimiter, fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { Warning } from "../http/support/framework.ts";
import { watchWarnings } from "../http/support/warnings.ts";
import { connect } from "../redis/clients.ts";
import { degradedDuring, reasonOf } from "../redis/degraded-decisions.ts";
import { STORE_ALONE } from "../redis/store-alone.ts";
import type { ClusterNode } from "../support/cluster-nodes.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { subjectsOf } from "./subjects-of.ts";

/** More than the different words of one code that are logged within an hour. */
const MANY = 30;

const limits = [
  fixedWindow({ limit: 3, window: "7d", per: "user" }),
  fixedWindow({ limit: 3, window: "7d", per: "tenant" }),
];

let cluster: RedisCluster;
let near: ClusterNode;
let far: ClusterNode;
let warnings: Warning[];

beforeAll(async () => {
  // Of two servers neither serves any more once it thinks that the other one is gone, as on a machine that was held up.
  cluster = await startCluster({ primaries: 2, nodeTimeoutMs: 60_000 });
  [near, far] = cluster.nodes as [ClusterNode, ClusterNode];
});
afterAll(() => cluster.stop());
beforeEach(() => {
  warnings = watchWarnings();
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The one line that the operator reads. */
async function expectOneNotice(): Promise<void> {
  await turn();
  expect(warnings.map(({ code }) => code)).toEqual(["HEADGATE_STORE_MISCONFIGURED"]);
  for (const remedy of ["new Cluster(...)", "createCluster(...)"]) {
    expect(warnings[0]?.message).toContain(remedy);
  }
}

describe.each(["ioredis 6", "node-redis 6"] as const)(
  "a non-cluster client of %s on one server of a cluster",
  (library) => {
    async function open(name: string): Promise<Limiter> {
      const { client, close } = await connect[library](near.process.socket);
      onTestFinished(async () => void (await close()));
      const store = redisStore(client, { prefix: library.replaceAll(/\W/g, "") });
      const limiter = createLimiter({ ...STORE_ALONE, name, limits, store }) as Limiter;
      onTestFinished(() => limiter.close());
      return limiter;
    }

    test("a non-cluster client is logged once, with the fix, and its server is never reported as down", async () => {
      const limiter = await open("once");
      const here = await subjectsOf(cluster, near, MANY);
      const elsewhere = await subjectsOf(cluster, far, MANY);
      const request = (user: string): Promise<Decision> => limiter.consume({ user, tenant: null });
      // One after another, and all at once.
      for (const user of [...here, ...elsewhere]) await request(user);
      const [reached, others] = await Promise.all([
        Promise.all(here.map(request)),
        Promise.all(elsewhere.map(request)),
      ]);
      for (const decision of reached) {
        expect(decision).toMatchObject({ source: "store", degraded: false, remaining: 1 });
      }
      for (const decision of others) {
        expect(decision).toMatchObject({ source: "local", degraded: true, remaining: 1 });
      }
      await expectOneNotice();
    });

    test("a decision across a hash slot of another server charges nothing in the reachable ones", async () => {
      const limiter = await open("both");
      const [user] = (await subjectsOf(cluster, near, 1)) as [string];
      const [tenant] = (await subjectsOf(cluster, far, 1)) as [string];
      const reason = await reasonOf(() => limiter.consume({ user, tenant }));
      expect(reason.code).toBe("HEADGATE_STORE_MISCONFIGURED");
      expect(reason.message).not.toContain(tenant);
      const look = await limiter.peek({ user, tenant: null });
      expect(look).toMatchObject({ source: "store", remaining: 2 });
      await expect(limiter.reset({ user, tenant })).rejects.toMatchObject({
        code: "HEADGATE_STORE_MISCONFIGURED",
        message: expect.stringContaining("createCluster(...)"),
        cause: { message: expect.stringMatching(/^MOVED /) },
      });
      await expectOneNotice();
    });

    test("ASK during a move of a hash slot is logged as the same problem", async () => {
      const limiter = await open("request");
      const [moving, other] = (await subjectsOf(cluster, near, 2)) as [string, string];
      const migration = await cluster.beginMigration(await cluster.slotOf(moving), far);
      onTestFinished(() => migration.cancel());
      const degraded = await degradedDuring(async () => {
        for (const user of [moving, ...(await subjectsOf(cluster, far, 1)), other]) {
          await limiter.consume({ user, tenant: null });
        }
      });
      const causes = degraded.map(({ reason }) => (reason.cause as Error).message.split(" ")[0]);
      expect(causes).toEqual(["ASK", "MOVED"]);
      await expectOneNotice();
    });
  },
);
