import { createLimiter, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { expect, inject, test } from "vitest";
import { uniquePrefix } from "../http/support/redis-client.ts";
import { STORE_ALONE } from "./store-alone.ts";

test("eight processes with changing per-call limits admit no more than the largest limit", async () => {
  const per = (limit: number) => slidingLog({ limit, window: "366d" });
  const prefix = uniquePrefix();
  const clients = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const client = new Redis(inject("redisSocket"), { lazyConnect: true });
      await client.connect();
      return client;
    }),
  );
  const admitted = await Promise.all(
    clients.map(async (client, caller) => {
      const limiter = createLimiter({
        ...STORE_ALONE,
        name: "rolling",
        limits: per(30),
        store: redisStore(client, { prefix }),
      });
      let count = 0;
      for (let i = 0; i < 100; i += 1) {
        const limits = per([20, 60, 120, 240][(caller + i) % 4] as number);
        if ((await limiter.consume("u", { limits })).allowed) count += 1;
      }
      await limiter.close();
      return count;
    }),
  );
  const total = admitted.reduce((sum, count) => sum + count, 0);
  expect(total).toBeGreaterThan(120);
  expect(total).toBeLessThanOrEqual(240);
  await Promise.all(clients.map((client) => client.quit()));
});
