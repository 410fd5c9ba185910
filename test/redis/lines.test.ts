import type { Decision, Limiter, LimiterOptions } from "@headgate/core";
import { createLimiter, fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";

const own = useOwnRedis();

/** A limiter with a client of its own, as in a process of its own. */
function member(options: Partial<LimiterOptions> = {}) {
  const client = new Redis(own.server.socket);
  const store = redisStore(client);
  const limits = fixedWindow({ limit: 2, window: "1h" });
  const defaults = { name: "api", limits, store, storeTimeout: "10s" } as const;
  const limiter: Limiter = createLimiter({ ...defaults, ...options });
  onTestFinished(async () => {
    await limiter.close();
    client.disconnect();
  });
  return limiter;
}

/** The ways in which an application lets a subject go on. */
const WAYS: Readonly<Record<string, (limiter: Limiter, used: Decision) => Promise<unknown>>> = {
  refund: (limiter, used) => limiter.refund(used),
  settle: (limiter, used) => limiter.settle(used, 1),
  reset: (limiter) => limiter.reset("reset"),
  unblock: (limiter) => limiter.unblock("unblock"),
};

/** Uses up the limit of a subject for each of these ways, or blocks it. */
async function useUp(limiter: Limiter): Promise<ReadonlyMap<string, Decision>> {
  const used = new Map<string, Decision>();
  for (const way of Object.keys(WAYS)) {
    used.set(way, await limiter.consume(way, { cost: way === "unblock" ? 1 : 2 }));
  }
  await limiter.block("unblock", "1h");
  return used;
}

describe("calls that wait for an hour's limit", () => {
  test.each([
    ["the same process", true, 3_000],
    ["another process", false, 30_000],
  ])(
    "go on after a refund, a settlement, a reset or the end of a block by %s",
    async (_, isSame, withinMs) => {
      const [one, other] = [member(), member()];
      const used = await useUp(one);
      const waiter = isSame ? one : other;
      let admitted = 0;
      const waiting = Object.keys(WAYS).map((way) =>
        waiter.wait(way, { timeout: withinMs }).then(() => {
          admitted += 1;
        }),
      );
      // Its answer comes after those to the calls that wait.
      await waiter.peek("other");
      expect(admitted).toBe(0);
      for (const [way, act] of Object.entries(WAYS)) await act(one, used.get(way) as Decision);
      await Promise.all(waiting);
    },
  );

  test("go on after a refund into the lease of their process", async () => {
    const options = { limits: fixedWindow({ limit: 1_000, window: "1h" }) };
    const limiter = member({ ...options, lease: { max: 100, ttl: "1m" } });
    let paid = await limiter.consume("u", { cost: 5 });
    while (paid.source !== "lease") paid = await limiter.consume("u", { cost: 5 });
    // Another process takes the rest of the limit, so that only the lease has room.
    const other = member(options);
    await other.charge("u", { cost: 1_000 });
    // Half of the first lease is left, for two requests like that.
    const waiting = limiter.wait("u", { cost: 10, timeout: 3_000 });
    await limiter.peek("other");
    await limiter.refund(paid);
    expect(await waiting).toMatchObject({ allowed: true, source: "lease" });
  });
});
