import { test } from "vitest";
import { outlastFailover } from "../cluster/outlast-failover.ts";
import { AT_ONCE, lostPrimaries } from "../support/lost-primaries.ts";
import { startSentinel } from "../support/redis-sentinel.ts";
import { connectSentinel, sentinelClients } from "./sentinel-clients.ts";

test.for(lostPrimaries(sentinelClients))(
  "Sentinels name another primary, seen through $library: after one that was $fault: answers in time, no more than the bound, and back to normal",
  { concurrent: AT_ONCE },
  async ({ library, fault }, { expect, onTestFinished }) => {
    const started = await startSentinel();
    onTestFinished(() => started.stop());
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
