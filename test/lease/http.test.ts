import { gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { expect, test } from "vitest";
import { describeAdapters } from "../http/support/describe-frameworks.ts";
import { uniquePrefix, useRedis } from "../http/support/redis-client.ts";

const redis = useRedis();

describeAdapters(({ serve }) => {
  test("frequent requests of a client are paid from leases, with the usual headers", async () => {
    const limits = gcra({ limit: 10_000, window: "365d" });
    const store = redisStore(redis, { prefix: uniquePrefix() });
    const lease = { max: 50, ttl: "10s" } as const;
    const { sendRequest } = await serve({
      limits: { name: "api", limits, store, lease, storeTimeout: "1m" },
    });
    const sources: string[] = [];
    for (let i = 0; i < 100; i += 1) {
      const { headers, json } = await sendRequest();
      const { source, remaining } = json() as { source: string; remaining: number };
      sources.push(source);
      expect(headers).toMatchObject({
        "x-ratelimit-limit": "10000",
        "x-ratelimit-remaining": `${remaining}`,
      });
      // Leased units count as remaining. A lease in flight while the store decided a request does not include that request.
      if (source === "lease") expect([9_999 - i, 10_000 - i]).toContain(remaining);
    }
    expect(sources.filter((source) => source === "lease").length).toBeGreaterThan(70);
  });
});
