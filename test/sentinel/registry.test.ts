import { createLimiter, gcra } from "@headgate/core";
import { readRegistry } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { afterEach, expect, test } from "vitest";
import type { RedisSentinel } from "../support/redis-sentinel.ts";
import { startSentinel } from "../support/redis-sentinel.ts";
import { waitUntil } from "../support/wait-until.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { connectSentinel, sentinelClients } from "./sentinel-clients.ts";

let sentinel: RedisSentinel | undefined;
afterEach(async () => {
  await sentinel?.stop();
});

test.each(sentinelClients)(
  "a registry is whole again after a failover that lost it, seen through %s",
  async (library) => {
    const started = await startSentinel();
    sentinel = started;
    const { client, close } = await connectSentinel[library](started);
    const store = redisStore(client);
    const limits = gcra({ limit: 5, window: "1m" });
    const limiter = createLimiter({ name: "api", store, limits });
    await writeRegistry(store);
    expect((await readRegistry(store)).limiters).toMatchObject([{ name: "api" }]);
    const primary = await started.primary();
    await primary.process.kill();
    const next = await started.waitForFailover(primary);
    await next.admin.command("FLUSHALL");
    await waitUntil("the process is listed again", 20_000, async () => {
      await writeRegistry(store);
      const { limiters, processes, unreadable } = await readRegistry(store, { timeout: "1s" });
      return (limiters.length + processes.length === 2 && unreadable.length === 0) || undefined;
    });
    await limiter.close();
    await close();
  },
);
