import { afterEach, expect, test } from "vitest";
import { outlastFailover } from "../cluster/outlast-failover.ts";
import { lostPrimaries } from "../support/lost-primaries.ts";
import type { RedisSentinel } from "../support/redis-sentinel.ts";
import { startSentinel } from "../support/redis-sentinel.ts";
import { connectSentinel, sentinelClients } from "./sentinel-clients.ts";

let sentinel: RedisSentinel | undefined;
afterEach(async () => {
  await sentinel?.stop();
});

test.each(lostPrimaries(sentinelClients))(
  "Sentinels name another primary, seen through $library: after one that was $fault: answers in time, no more than the bound, and back to normal",
  async ({ library, fault }) => {
    const started = await startSentinel();
    sentinel = started;
    const { client, close } = await connectSentinel[library](started);
    const primary = await started.primary();
    const { before, reported } = await outlastFailover({
      client,
      subjects: ["a", "b", "c", "d"],
      fault,
      primary: primary.process,
      takenOver: () => started.waitForFailover(primary),
      recoveryMs: 15_000,
    });
    await close();

    expect(before.some(({ decision }) => decision.degraded)).toBe(false);
    console.log(`${library}, ${fault}: ${reported}`);
  },
);
