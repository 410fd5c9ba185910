import { createBreaker } from "@headgate/breaker";
import type { Decision, LimiterOptions } from "@headgate/core";
import { createLimiter, fixedWindow, gcra } from "@headgate/core";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { useLosableRedis } from "../http/support/losable-redis.ts";
import { watchWarnings } from "../http/support/warnings.ts";
import { loopBesideTimer } from "../support/loop-beside-timer.ts";

const redis = useLosableRedis();
beforeEach(() => void watchWarnings());

/** The longest gap of a timer beside a loop, in milliseconds. */
const MAX_GAP_MS = 50;

async function start(options: Partial<LimiterOptions> = {}) {
  const limits = gcra({ limit: 1_000_000, window: "1s" });
  const store = await redis.openStore();
  const limiter = createLimiter({ name: "jobs", limits, store, ...options });
  onTestFinished(() => limiter.close());
  await limiter.ready();
  return limiter;
}

/** Consumes in a loop until a decision has a source, at most for some seconds. Returns the sources of all decisions. */
async function consumeUntil(
  consume: () => Promise<Decision>,
  source: Decision["source"],
): Promise<Set<string>> {
  const sources = new Set<string>();
  const startedAt = performance.now();
  while (!sources.has(source) && performance.now() - startedAt < 10_000) {
    sources.add((await consume()).source);
  }
  return sources;
}

describe("timers fire beside a loop of decisions that are", () => {
  test("denied by the deny cache", async () => {
    const limiter = await start({ limits: fixedWindow({ limit: 1, window: "1d" }) });
    expect(await consumeUntil(() => limiter.consume("a"), "deny-cache")).toContain("deny-cache");
    expect(await loopBesideTimer(() => limiter.consume("a"))).toBeLessThan(MAX_GAP_MS);
  });

  test("paid by a lease", async () => {
    const limiter = await start({
      limits: fixedWindow({ limit: 100_000_000, window: "1d" }),
      lease: { max: 1_000_000, ttl: "1m" },
    });
    // The first lease is for several requests like the last one, so for all of the loop's.
    const consumeMany = () => limiter.consume("a", { cost: 200_000 });
    expect(await consumeUntil(consumeMany, "lease")).toContain("lease");
    expect(await loopBesideTimer(() => limiter.consume("a"))).toBeLessThan(MAX_GAP_MS);
  });

  test.each(["local", "allow", "deny"] as const)(
    "degraded, by onUnavailable %s",
    async (source) => {
      const limiter = await start({ onUnavailable: source });
      redis.lose();
      expect(await consumeUntil(() => limiter.consume("a"), source)).toContain(source);
      for (const method of ["consume", "peek", "charge"] as const) {
        expect(await loopBesideTimer(() => limiter[method]("a"))).toBeLessThan(MAX_GAP_MS);
      }
    },
  );
});

test("timers fire beside a loop of calls whose breaker cannot reach the store", async () => {
  const breaker = createBreaker({ name: "payments", store: await redis.openStore() });
  onTestFinished(() => breaker.close());
  await breaker.snapshot();
  redis.lose();
  await breaker.snapshot();
  expect(await loopBesideTimer(() => breaker.admit())).toBeLessThan(MAX_GAP_MS);
  expect(await loopBesideTimer(() => breaker.snapshot())).toBeLessThan(MAX_GAP_MS);
});

test("an outage ends while a loop consumes without a pause", async () => {
  const limiter = await start();
  redis.lose();
  const consume = () => limiter.consume("a");
  expect(await consumeUntil(consume, "local")).toContain("local");
  redis.thaw();
  expect(await consumeUntil(consume, "store")).toContain("store");
});
