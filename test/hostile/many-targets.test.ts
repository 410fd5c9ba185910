import { setTimeout } from "node:timers/promises";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { expect, test } from "vitest";
import { uniquePrefix, useRedis } from "../http/support/redis-client.ts";
import { IS_LONG } from "./crowd.ts";
import { liveMebibytes } from "./memory-use.ts";

const redis = useRedis();
const MAX_TARGETS = 1_000;
const onRedis = () => redisStore(redis, { prefix: uniquePrefix() });

/** Finalizers run between two turns of the event loop, and may free more objects. */
async function live(): Promise<number> {
  for (let i = 0; i < 3; i += 1) {
    liveMebibytes();
    await setTimeout(10);
  }
  return liveMebibytes();
}

test.each([
  { where: "Redis", targets: IS_LONG ? 12_000 : 5_000, store: onRedis },
  { where: "this process", targets: IS_LONG ? 60_000 : 15_000, store: () => undefined },
])(
  "$targets targets that come and go take no more room in $where than maxTargets",
  async ({ targets, store }) => {
    const options = { name: "api", maxTargets: MAX_TARGETS, flushInterval: 10 } as const;
    const breaker = createBreaker({ ...options, store: store(), storeTimeout: "1m" });
    const call = async (from: number, to: number): Promise<void> => {
      for (let i = from; i < to; i += 200) {
        const some = Array.from({ length: 200 }, (_, k) => breaker.for(`target ${i + k}`));
        await Promise.all(some.map((target) => target.run(async () => 1)));
      }
      await setTimeout(50);
    };
    await call(0, 200);
    const empty = await live();
    await call(200, 2 * MAX_TARGETS);
    const full = await live();
    await call(2 * MAX_TARGETS, targets);
    const after = await live();
    console.log(`${((full - empty) * 1_024) / MAX_TARGETS} KB for a target`);
    expect(full - empty).toBeLessThan(8);
    expect(after - full).toBeLessThan(3);
    await breaker.close();
  },
);

test("without a store, an open target is not evicted by targets that are called once", async () => {
  const breaker = createBreaker({ maxTargets: 10, minimumCalls: 2 });
  const broken = () => breaker.for("broken").run(() => Promise.reject(new Error("down")));
  for (let i = 0; i < 2; i += 1) await expect(broken()).rejects.toThrow("down");
  for (let i = 0; i < 1_000; i += 1) await breaker.for(`target ${i}`).run(async () => 1);
  await expect(broken()).rejects.toMatchObject({ code: "HEADGATE_BREAKER_OPEN" });
});
