import { createLimiter, gcra } from "@headgate/core";
import { readRegistry } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { isShedding, readShedding } from "@headgate/replay/internal";
import { expect, test } from "vitest";
import { overload } from "../support/overloaded-shedder.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { writeRegistry } from "../support/write-registry.ts";

const own = useOwnRedis();

test("a process with a limiter on Redis lists whom it sheds, until its load shedder is closed", async () => {
  const store = redisStore(own.client);
  const limiter = createLimiter({ name: "api", limits: gcra({ limit: 1, window: "1m" }), store });
  const { shed } = overload({ name: "api", priority: () => "sheddable" });
  const details = async () => {
    await writeRegistry(store);
    const { processes, unreadable } = await readRegistry(store);
    expect(unreadable).toEqual([]);
    expect(processes).toHaveLength(1);
    return processes[0]?.details;
  };
  const listed = await details();
  expect(isShedding(listed ?? null)).toBe(true);
  const shedding = readShedding(listed);
  expect(shedding).toMatchObject({ shedders: 1, episode: { sheddable: 2, default: 0 } });
  expect(Math.abs((shedding?.episode?.from ?? 0) - Date.now())).toBeLessThan(60_000);
  await shed.close();
  expect(await details()).toBeUndefined();
  await limiter.close();
});
