import type { Limit } from "@headgate/core";
import { createLimiter, fixedWindow, gcra, slidingLog, slidingWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { STORE_ALONE } from "./store-alone.ts";

const own = useOwnRedis();

/** Fewer than the 500 scripts that Redis 7.4 and Valkey 8.0 keep. */
const SHAPES = 200;

const WINDOWS: Record<string, (window: number) => Limit> = {
  gcra: (window) => gcra({ limit: 5, window }),
  fixedWindow: (window) => fixedWindow({ limit: 5, window }),
  slidingWindow: (window) => slidingWindow({ limit: 5, window }),
  slidingLog: (window) => slidingLog({ limit: 5, window }),
};

/** Bytes of the texts of scripts and of their compiled form, which Redis does not count in `used_memory`. */
async function scriptMemory(): Promise<number> {
  const info = await own.client.info("memory");
  const read = (field: string) => Number(new RegExp(`${field}:(\\d+)`).exec(info)?.[1]);
  return read("used_memory_scripts_eval") + read("used_memory_vm_eval");
}

test.each(Object.entries(WINDOWS))(
  "a script for one more window of a %s takes 8 to 19 KB of Redis, as the page on plans says",
  async (_, limitOf) => {
    const store = redisStore(own.client);
    const limiter = createLimiter({ ...STORE_ALONE, name: "many", limits: limitOf(5_000), store });
    onTestFinished(() => limiter.close());
    const ask = (i: number) => limiter.consume("ann", { limits: limitOf(10_000 + i) });
    // The scripts of the other limits count among the 500.
    await own.client.script("FLUSH");
    await ask(0);
    const before = await scriptMemory();
    for (let i = 1; i <= SHAPES; i += 1) await ask(i);
    const each = (await scriptMemory()) / SHAPES - before / SHAPES;
    // Lua collects its garbage when it likes.
    expect(each).toBeGreaterThan(7_000);
    expect(each).toBeLessThan(20_000);
  },
);
