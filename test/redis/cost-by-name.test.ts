import type { Limiter } from "@headgate/core";
import { createLimiter, fixedWindow, slidingLog } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { beforeEach, expect, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";

const own = useOwnRedis();
beforeEach(() => own.client.config("RESETSTAT"));

function open(): Limiter {
  return createLimiter({
    name: "api",
    store: redisStore(own.client),
    limits: [
      fixedWindow({ limit: 40, window: "1h", name: "requests" }),
      fixedWindow({ limit: 1_000, window: "1h", name: "tokens" }),
      slidingLog({ limit: 9, window: "1h", name: "images" }),
    ],
    storeTimeout: "10s",
    denyCache: false,
  });
}

async function callsOf(command: string): Promise<number> {
  const calls = new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(
    await own.client.info("commandstats"),
  );
  return Number(calls?.[1] ?? 0);
}

test("concurrent decisions with costs by name are batched, and each sees the charges of earlier ones", async () => {
  const limiter = open();
  const costs = Array.from({ length: 50 }, (_, i) => ({ tokens: i < 25 ? 30 : 50, images: 0 }));
  const pending = costs.map((cost) => limiter.consume("u", { cost }));
  const decisions = await Promise.all(pending);
  expect(decisions.map(({ source }) => source)).toEqual(Array(50).fill("store"));
  // 25 of 30, and five of 50: then there are no tokens left, for which requests remain.
  expect(decisions.map(({ allowed }) => allowed)).toEqual([
    ...Array(30).fill(true),
    ...Array(20).fill(false),
  ]);
  const { limits } = await limiter.peek("u", { cost: 0 });
  expect(limits.map(({ remaining }) => remaining)).toEqual([10, 0, 9]);
  expect((await callsOf("evalsha")) + (await callsOf("eval"))).toBeLessThan(15);
  await limiter.close();
});

test("a key of a wrong type fails only its own decision, and a charge rejects", async () => {
  const limiter = open();
  await limiter.consume("wrong", { cost: { tokens: 5 } });
  const [key = ""] = (await own.client.keys("*")).filter((name) => !name.includes(":log"));
  await own.client.del(key);
  await own.client.lpush(key, "not ours");
  const cost = { tokens: 5 };
  const [wrong, right] = await Promise.all([
    limiter.consume("wrong", { cost }),
    limiter.consume("right", { cost }),
  ]);
  expect([wrong.degraded, right.degraded]).toEqual([true, false]);
  await expect(limiter.charge("wrong", { cost })).rejects.toMatchObject({
    code: "HEADGATE_WRONG_TYPE",
  });
  await limiter.close();
});
