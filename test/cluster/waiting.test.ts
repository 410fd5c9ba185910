import type { Limiter } from "@headgate/core";
import { concurrency, createLimiter, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { connectCluster } from "./cluster-clients.ts";
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

test.each(["ioredis 6", "node-redis 6"] as const)(
  "a line over several hash slots uses all slots, keeps its order, and gives back what aborted calls took, through %s",
  async (library) => {
    const connection = await connectCluster[library](cluster.addresses);
    const limiter = createLimiter({
      name: `line-${library}`,
      limits: [
        slidingLog({ limit: 100, window: "1h", per: "user" }),
        concurrency({ limit: 30, ttl: "1m", per: "tenant" }),
      ],
      store: redisStore(connection.client),
      storeTimeout: "30s",
    }) as Limiter;
    opened.push(connection, limiter);
    const [user, tenant] = (await subjectOnEach(cluster)) as [string, string];
    const subject = { user, tenant };
    const running = new Set<number>();
    const order: number[] = [];
    let most = 0;
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const jobs = Array.from({ length: 60 }, (_, i) =>
      limiter.run(subject, async () => {
        order.push(i);
        running.add(i);
        most = Math.max(most, running.size);
        if (running.size === 30) finish();
        await finished;
        running.delete(i);
      }),
    );
    await Promise.all(jobs);
    expect(most).toBe(30);
    expect(order).toEqual(jobs.map((_, i) => i));
    const controller = new AbortController();
    const aborted = Array.from({ length: 40 }, () =>
      limiter.wait(subject, { signal: controller.signal }),
    );
    const ends = Promise.allSettled(aborted);
    // The first is admitted; the attempts of the next ones are on their way.
    await aborted[0];
    controller.abort();
    const admitted = (await ends).flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
    await Promise.all(admitted.map((decision) => limiter.release(decision)));
    await limiter.close();
    const again = createLimiter({
      name: `line-${library}`,
      limits: [
        slidingLog({ limit: 100, window: "1h", per: "user" }),
        concurrency({ limit: 30, ttl: "1m", per: "tenant" }),
      ],
      store: redisStore(connection.client),
      storeTimeout: "30s",
    }) as Limiter;
    opened.push(again);
    const { limits } = await again.peek(subject, { cost: 0 });
    expect(limits.map(({ remaining }) => remaining)).toEqual([40 - admitted.length, 30]);
  },
);
