import type { Limiter } from "@headgate/core";
import { createLimiter, fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { startRedis } from "../support/redis-process.ts";
import type { Passage } from "./crowd.ts";
import { CROWD, passCrowd } from "./crowd.ts";
import { liveMebibytes } from "./memory-use.ts";

/** What this process keeps beside Redis: denials it remembers, and its own counts while Redis is down. Both are bounded. */

const limits = fixedWindow({ limit: 5, window: "1h" });

/*
 * Half of a crowd is more than a bound, so that the other half must take its room: 10,000 subjects whose denials are
 * remembered, 100,000 that are counted here.
 */
const HALF_DENIED = CROWD / 8;
const HALF_COUNTED = Math.max(CROWD / 2, 110_000);

function print(what: string, figures: readonly number[], { microsecondsEach }: Passage): void {
  const printed = figures.map((mebibytes) => `${mebibytes.toFixed(1)} MB`).join(", ");
  console.log(`${what}: ${printed}, ${microsecondsEach.toFixed(1)} µs each`);
}

/** What this process holds before, after half of a crowd, and after all of it. */
async function growthOf(
  what: string,
  half: number,
  ask: Parameters<typeof passCrowd>[0],
): Promise<{ readonly filled: number; readonly beyond: number; readonly last: Passage }> {
  const before = liveMebibytes();
  await passCrowd(ask, { to: half });
  const middle = liveMebibytes();
  const last = await passCrowd(ask, { from: half, to: 2 * half });
  const end = liveMebibytes();
  print(`${2 * half} clients, ${what}`, [before, middle, end], last);
  return { filled: middle - before, beyond: end - middle, last };
}

describe("the deny cache", () => {
  const own = useOwnRedis();

  function start(): Limiter {
    const store = redisStore(own.client);
    // A thousand calls at once on a busy machine may take longer than a request should.
    const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "1m" });
    onTestFinished(() => limiter.close());
    return limiter;
  }

  test("a denied crowd takes the memory of 10,000 entries", async () => {
    const limiter = start();
    // More than the limit ever grants: denied by the server, which keeps nothing of it.
    const denied = (client: string) => limiter.consume(client, { cost: 6 });
    await passCrowd(denied, { to: 1_000 });
    const { filled, beyond, last } = await growthOf("each denied by Redis", HALF_DENIED, denied);
    expect(last.admitted).toBe(0);
    expect(filled).toBeLessThan(20);
    expect(beyond).toBeLessThan(3);
    expect(await own.client.dbsize()).toBe(0);
  });

  test("one client with every possible cost takes the memory of a few entries", async () => {
    const limiter = start();
    const { filled, beyond } = await growthOf("one client, a cost each", HALF_DENIED, (client) =>
      limiter.consume("greedy", { cost: 6 + Number.parseInt(client.slice(7), 36) }),
    );
    expect(filled).toBeLessThan(3);
    expect(beyond).toBeLessThan(3);
  });

  test("a crowd that is reset one by one leaves nothing behind", async () => {
    const limiter = start();
    const { filled, beyond } = await growthOf("each reset", HALF_DENIED, async (client) => {
      return { allowed: await limiter.reset(client) };
    });
    expect(filled).toBeLessThan(10);
    expect(beyond).toBeLessThan(3);
  });
});

describe("while Redis is down", () => {
  let client: Redis;

  beforeAll(async () => {
    const server = await startRedis();
    client = new Redis(server.socket);
    client.on("error", () => {});
    await client.ping();
    await server.stop();
  });
  afterAll(() => client.disconnect());

  /** Megabytes that a crowd may take: 100,000 subjects at half a kilobyte where they are counted, else nothing. */
  const policies = [
    ["local", 100, true],
    ["allow", 3, true],
    ["deny", 3, false],
  ] as const;

  test.each(policies)(
    "onUnavailable %s holds no more than %i MB of a crowd",
    async (policy, most, isAdmitted) => {
      const half = policy === "local" ? HALF_COUNTED : HALF_DENIED;
      const store = redisStore(client, { prefix: policy });
      const limiter = createLimiter({ name: "api", limits, store, onUnavailable: policy });
      onTestFinished(() => limiter.close());
      // The first few wait for the store, and the rest of the run is over what is known.
      await passCrowd(limiter.consume, { to: 1_000 });
      const decision = await limiter.consume("first");
      expect(decision).toMatchObject({ degraded: true, source: policy });
      const { filled, beyond, last } = await growthOf(
        `Redis down, ${policy}`,
        half,
        limiter.consume,
      );
      expect(last.admitted).toBe(isAdmitted ? half : 0);
      expect(filled).toBeLessThan(most);
      expect(beyond).toBeLessThan(0.1 * filled + 3);
      expect(last.microsecondsEach).toBeLessThan(200);
    },
  );
});
