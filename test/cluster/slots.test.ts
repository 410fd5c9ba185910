import { setTimeout as delay } from "node:timers/promises";
import type { Decision, Limiter } from "@headgate/core";
import { concurrency, createLimiter, gcra, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { connectCluster, currentClusterClients } from "./cluster-clients.ts";
import { subjectOnEach } from "./subjects-of.ts";

let cluster: RedisCluster;
const opened: { close(): Promise<unknown> }[] = [];

beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

describe.each(currentClusterClients)(
  "concurrency slots in several hash slots, through %s",
  (library) => {
    async function open(name: string, ttl: number): Promise<Limiter> {
      const connection = await connectCluster[library](cluster.addresses);
      const limiter = createLimiter({
        name,
        limits: [
          concurrency({ limit: 2, ttl, per: "user" }),
          concurrency({ limit: 3, ttl, per: "tenant" }),
          gcra({ limit: 1_000, window: "7d", per: "route" }),
        ],
        store: redisStore(connection.client),
        storeTimeout: "30s",
        denyCache: false,
      }) as Limiter;
      opened.push(connection, limiter);
      return limiter;
    }

    async function subjects() {
      const [user, tenant, route] = (await subjectOnEach(cluster)) as [string, string, string];
      return { user, tenant, route };
    }

    test("slots of per-call limits of another shape are taken and released in all hash slots", async () => {
      const limiter = await open(`brought-${library}`, 60_000);
      const subject = await subjects();
      const limits = [
        slidingLog({ limit: 5, window: "1h", per: "user" }),
        concurrency({ limit: 1, ttl: "1m", per: "tenant", name: "one" }),
      ];
      const first = await limiter.consume(subject, { limits });
      expect(first).toMatchObject({ allowed: true, source: "store" });
      const denied = await limiter.consume(subject, { limits });
      expect(denied).toMatchObject({ allowed: false, source: "store" });
      expect(await limiter.release(first)).toBe(true);
      const second = await limiter.wait(subject, { limits });
      expect(second.limits.map(({ remaining }) => remaining)).toEqual([3, 0]);
      expect(await limiter.refund(second)).toBe(true);
      expect(await limiter.release(second)).toBe(true);
      const { limits: left } = await limiter.peek(subject, { limits, cost: 0 });
      expect(left.map(({ remaining }) => remaining)).toEqual([4, 1]);
      expect(await limiter.reset(subject)).toBe(true);
      expect((await limiter.peek(subject, { limits, cost: 0 })).limits[0]?.remaining).toBe(5);
    });

    test("slots in several hash slots never exceed the limits, and a denial leaves none behind", async () => {
      const limiter = await open(`crowd-${library}`, 60_000);
      const { user, tenant, route } = await subjects();
      const users = [user, `${user}-other`];
      const left = async () => {
        const looks = await Promise.all(
          users.map((one) => limiter.peek({ user: one, tenant, route }, { cost: 0 })),
        );
        return looks.map(({ limits }) => limits.slice(0, 2).map(({ remaining }) => remaining));
      };
      for (let round = 0; round < 10; round += 1) {
        const decisions = await Promise.all(
          Array.from({ length: 12 }, (_, i) =>
            limiter.consume({ user: users[i % 2] as string, tenant, route }),
          ),
        );
        const allowed = decisions.filter((decision) => decision.allowed);
        expect(allowed.length).toBeLessThanOrEqual(3);
        const ofUsers = users.map(
          (_, u) => decisions.filter(({ allowed }, i) => allowed && i % 2 === u).length,
        );
        expect(Math.max(...ofUsers)).toBeLessThanOrEqual(2);
        // On record is what was admitted, and nothing else.
        expect(await left()).toEqual(
          ofUsers.map((taken) => [2 - taken, 3 - (ofUsers[0] as number) - (ofUsers[1] as number)]),
        );
        for (const decision of allowed) expect(await limiter.release(decision)).toBe(true);
        expect(await left()).toEqual([
          [2, 3],
          [2, 3],
        ]);
      }
    });

    test("slots are renewed and released in each hash slot", async () => {
      const limiter = await open(`renewed-${library}`, 900);
      const subject = await subjects();
      let seen: Decision | undefined;
      await limiter.run(subject, async ({ decision, signal }) => {
        seen = decision;
        await delay(2_000);
        expect(signal.aborted).toBe(false);
        const { limits } = await limiter.peek(subject, { cost: 0 });
        expect(limits.map(({ remaining }) => remaining)).toEqual([1, 2, 999]);
      });
      expect(seen?.allowed).toBe(true);
      const { limits } = await limiter.peek(subject, { cost: 0 });
      expect(limits.map(({ remaining }) => remaining)).toEqual([2, 3, 999]);
    });
  },
);
