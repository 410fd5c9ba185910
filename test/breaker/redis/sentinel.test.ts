import { afterEach, beforeEach, test } from "vitest";
import { watchWarnings } from "../../http/support/warnings.ts";
import { connectSentinel, sentinelClients } from "../../sentinel/sentinel-clients.ts";
import { lostPrimaries } from "../../support/lost-primaries.ts";
import type { RedisSentinel } from "../../support/redis-sentinel.ts";
import { startSentinel } from "../../support/redis-sentinel.ts";
import { surviveFailover } from "./survive-failover.ts";

let sentinel: RedisSentinel | undefined;
beforeEach(() => void watchWarnings());
afterEach(async () => {
  await sentinel?.stop();
});

test.each(lostPrimaries(sentinelClients))(
  "with $library, states survive a Sentinel failover from a $fault primary",
  async ({ library, fault }) => {
    const started = await startSentinel();
    sentinel = started;
    const { client, close } = await connectSentinel[library](started);
    const primary = await started.primary();
    const reported = await surviveFailover({
      client,
      targets: Array.from({ length: 6 }, (_, i) => `target-${i}`),
      fault,
      primary: primary.process,
      takenOver: () => started.waitForFailover(primary),
      recoveryMs: 15_000,
    });
    await close();
    console.log(`${library}, ${fault}: ${reported}`);
  },
);
