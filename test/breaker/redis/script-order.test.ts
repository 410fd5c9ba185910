import { setImmediate as nextTurn } from "node:timers/promises";
import type { Breaker, BreakerOptions } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../../support/own-redis.ts";
import type { TcpProxy } from "../../support/tcp-proxy.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";

/** State changes and reports have scripts of their own. While one script is in flight, its next call waits, and others are sent. */

/** A server whose scripts nobody else uses. */
const own = useOwnRedis();

let proxy: TcpProxy;
let redis: Redis;
beforeEach(async () => {
  proxy = await startTcpProxy({ socket: inject("redisSocket") });
  redis = new Redis(proxy.port, "127.0.0.1");
});
afterEach(async () => {
  redis.disconnect();
  await proxy.close();
});

async function start(
  name: string,
  options: BreakerOptions<never>,
  client = redis,
): Promise<Breaker<string>> {
  const store = redisStore(client);
  const breaker = createBreaker<string>({ name, store, storeTimeout: "1m", ...options } as never);
  onTestFinished(() => breaker.close());
  await breaker.reset();
  await breaker.for("other").reset();
  return breaker;
}

/** Makes what is asked wait behind something of its kind that is under way, and lets all go once it was asked. */
async function askBehind(first: () => Promise<unknown>, ask: () => Promise<unknown>) {
  proxy.hold("replies");
  const under = first();
  await nextTurn();
  const asked = ask();
  await nextTurn();
  proxy.pass();
  await Promise.all([under, asked]);
}

describe("reordered requests", () => {
  test.each([
    ["a report waits", "1m", (breaker: Breaker<string>) => breaker.snapshot()],
    ["outcomes wait", 0, async () => {}],
  ] as const)(
    "a reset applies last although %s behind another request",
    async (what, flushInterval, report) => {
      const breaker = await start(what, { flushInterval, minimumCalls: 4 });
      const other = breaker.for("other");
      await askBehind(
        () => other.snapshot(),
        () => {
          const recorded = Array.from({ length: 4 }, () => breaker.record("failure"));
          return Promise.all([...recorded, report(breaker), breaker.reset()]);
        },
      );
      expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 0 });
    },
  );

  test("a manual state change applies although a later snapshot overtakes it", async () => {
    const breaker = await start("ordered", { flushInterval: "1m" });
    const other = breaker.for("other");
    await askBehind(
      () => other.reset(),
      () => Promise.all([breaker.forceOpen(), breaker.snapshot()]),
    );
    expect(await breaker.admit()).toMatchObject({ allowed: false, state: "forced-open" });
  });

  test("a reset applies last although the server had forgotten the script of the report before it", async () => {
    const breaker = await start("forgotten", { flushInterval: "1m", minimumCalls: 4 }, own.client);
    await own.client.script("FLUSH");
    // Loads the script of state changes again.
    await breaker.for("other").reset();
    for (let i = 0; i < 4; i += 1) await breaker.record("failure");
    await Promise.all([breaker.snapshot(), breaker.reset()]);
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 0 });
  });
});
