import { createLimiter, fixedWindow, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { STORE_ALONE } from "../redis/store-alone.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import type { ClusterClientName } from "./cluster-clients.ts";
import { clusterClientNames, connectCluster } from "./cluster-clients.ts";
import { subjectOnEach } from "./subjects-of.ts";

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());
afterEach(() => {
  vi.restoreAllMocks();
});

test.for(clusterClientNames.flatMap((library) => [[library, 0] as const, [library, 10] as const]))(
  "several hash slots are decided all or nothing through %s, %i days away from their clocks",
  async ([library, days]: readonly [ClusterClientName, number]) => {
    const { now } = performance;
    vi.spyOn(performance, "now").mockImplementation(
      () => now.call(performance) + days * 86_400_000,
    );
    const { client, close } = await connectCluster[library](cluster.addresses);
    const limiter = createLimiter({
      ...STORE_ALONE,
      name: `dated ${days}`,
      store: redisStore(client),
      limits: [
        fixedWindow({ limit: 3, window: "month", per: "tenant" }),
        fixedWindow({ limit: 5, window: "day", per: "user", timeZone: "Asia/Kathmandu" }),
        gcra({ limit: 9, window: "7d", per: "route" }),
      ],
    });
    const [tenant = "", user = "", route = ""] = await subjectOnEach(cluster);
    const subjects = { tenant, user, route };
    const decisions = await Promise.all(Array.from({ length: 8 }, () => limiter.consume(subjects)));
    const admitted = decisions.filter(({ allowed }) => allowed);
    // Who is denied at the last moment may have kept out others for as long.
    expect(admitted.length).toBeLessThanOrEqual(3);
    while ((await limiter.consume(subjects)).allowed) admitted.push(decisions[0] as never);
    expect(admitted).toHaveLength(3);
    const left = async () =>
      (await limiter.peek(subjects, { cost: 0 })).limits.map(({ remaining }) => remaining);
    expect((await left()).slice(0, 2)).toEqual([0, 2]);
    const [first] = decisions.filter(({ allowed }) => allowed);
    if (first !== undefined) {
      expect(await limiter.refund(first)).toBe(true);
      expect((await left()).slice(0, 2)).toEqual([1, 3]);
    }
    expect(decisions.every(({ source }) => source === "store")).toBe(true);
    await limiter.close();
    await close();
  },
);
