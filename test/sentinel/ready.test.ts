import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { watchWarnings } from "../http/support/warnings.ts";
import type { RedisSentinel } from "../support/redis-sentinel.ts";
import { startSentinel } from "../support/redis-sentinel.ts";
import { connectSentinel, sentinelClients } from "./sentinel-clients.ts";

let sentinel: RedisSentinel;
beforeAll(async () => {
  sentinel = await startSentinel({ replicas: 1, downAfterMs: 60_000 });
});
afterAll(() => sentinel.stop());

test.each(sentinelClients)(
  "ready loads the scripts on the primary, and resolves with false if it is silent, through %s",
  async (library) => {
    const { process, admin } = await sentinel.primary();
    await admin.command("SCRIPT", "FLUSH");
    const { client, close } = await connectSentinel[library](sentinel);
    onTestFinished(async () => void (await close()));
    const limits = gcra({ limit: 100, window: "1h" });
    const store = redisStore(client, { registry: false });
    const options = { limits, store, denyCache: false } as const;
    const limiter = createLimiter({ ...options, name: "api", storeTimeout: "30s" });
    onTestFinished(() => limiter.close());
    expect(await limiter.ready()).toBe(true);
    const texts = async (): Promise<string | undefined> =>
      /^cmdstat_eval:calls=(\d+)/m.exec(String(await admin.command("INFO", "commandstats")))?.[1];
    const loaded = await texts();
    expect(Number(loaded)).toBeGreaterThan(0);
    expect(await limiter.consume("ann")).toMatchObject({ source: "store" });
    expect(await texts()).toBe(loaded);
    const hasty = createLimiter({ ...options, name: "hasty", storeTimeout: 50 });
    onTestFinished(() => hasty.close());
    onTestFinished(() => process.thaw());
    process.freeze();
    // The client has answered: the time to connect is over for all on it.
    const warnings = watchWarnings();
    expect(await hasty.ready()).toBe(false);
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings.map(({ message }) => message).join()).toContain("within 50 ms");
  },
);
