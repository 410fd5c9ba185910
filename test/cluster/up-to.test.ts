import type { Limit, Limiter } from "@headgate/core";
import { createLimiter, fixedWindow, gcra, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Random } from "../conformance/random/random.ts";
import { STORE_ALONE } from "../redis/store-alone.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { connectCluster } from "./cluster-clients.ts";
import { subjectOnEach, subjectsOf } from "./subjects-of.ts";

const LIBRARIES = ["ioredis 6", "node-redis 6", "ioredis 5", "node-redis 5"] as const;
const LIMIT = 300;

/** No unit comes back while a test runs. */
const window = "366d";

let cluster: RedisCluster;
const open: { close(): Promise<unknown> }[] = [];

beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

/** Limiters of one name, each with a client of its own. */
async function limitersOn(name: string, limits: readonly Limit[]): Promise<readonly Limiter[]> {
  const limiters: Limiter[] = [];
  for (const library of LIBRARIES) {
    const connection = await connectCluster[library](cluster.addresses);
    const store = redisStore(connection.client);
    const limiter = createLimiter({ ...STORE_ALONE, name, limits, store }) as Limiter;
    open.push(connection, limiter);
    limiters.push(limiter);
  }
  return limiters;
}

test.each<[name: string, limit: Limit]>([
  ["gcra", gcra({ limit: LIMIT, window })],
  ["slidingLog", slidingLog({ limit: LIMIT, window })],
])(
  "callers on a cluster that take what is left get exactly the limit of %s, for each of many subjects",
  async (name, limit) => {
    const limiters = await limitersOn(name, [limit]);
    const primaries = cluster.nodes.filter((node) => node.startedAs === "primary");
    // Several hash slots of each node, whose calls may share a script.
    const subjects = (
      await Promise.all(primaries.map((node) => subjectsOf(cluster, node, 5)))
    ).flat();
    const granted = new Map<string, number>();
    const take = async (limiter: Limiter, subject: string, random: Random): Promise<void> => {
      for (;;) {
        const decision = await limiter.consume(subject, { upTo: random.whole(1, 40) });
        expect(decision.degraded).toBe(false);
        if (!decision.allowed) return;
        granted.set(subject, (granted.get(subject) ?? 0) + Number(decision.granted));
      }
    };
    await Promise.all(
      limiters.flatMap((limiter, l) =>
        subjects.map((subject, s) => take(limiter, subject, new Random(l, s))),
      ),
    );
    expect([...granted.values()]).toEqual(subjects.map(() => LIMIT));
  },
);

test("across several hash slots, callers at once never get more than a limit, and are charged exactly what they got", async () => {
  const limits = [
    fixedWindow({ limit: LIMIT, window, per: "user", name: "user" }),
    slidingLog({ limit: LIMIT + 50, window, per: "tenant", name: "tenant" }),
    fixedWindow({ limit: LIMIT + 90, window, per: "route", name: "route" }),
  ];
  const limiters = await limitersOn("across", limits);
  const [user, tenant, route] = (await subjectOnEach(cluster)) as [string, string, string];
  const [otherUser] = (await subjectOnEach(cluster)) as [string];
  const users = [user, otherUser];
  const granted = new Map<string, number>();
  const random = new Random(7);
  const takeSome = async (limiter: Limiter): Promise<void> => {
    for (let i = 0; i < 25; i += 1) {
      const who = { user: random.pick(users), tenant, route };
      const decision = await limiter.consume(who, { upTo: random.whole(1, 30) });
      expect(decision).toMatchObject({ degraded: false, allowed: Number(decision.granted) > 0 });
      granted.set(who.user, (granted.get(who.user) ?? 0) + Number(decision.granted));
    }
  };
  await Promise.all(limiters.flatMap((limiter) => [takeSome(limiter), takeSome(limiter)]));
  const [first] = limiters as [Limiter];
  const all = users.reduce((sum, one) => sum + (granted.get(one) ?? 0), 0);
  expect(all).toBeGreaterThan(LIMIT / 2);
  for (const one of users) {
    const { limits: left } = await first.peek({ user: one, tenant, route }, { cost: 0 });
    expect(left.map(({ limit, remaining }) => limit - remaining)).toEqual([
      granted.get(one),
      all,
      all,
    ]);
  }
  // Alone, a caller gets the rest of the tightest limit.
  const rest = await first.consume({ user, tenant, route }, { upTo: 1_000 });
  expect(rest.granted).toBe(Math.min(LIMIT - (granted.get(user) ?? 0), LIMIT + 50 - all));
});
