import { beforeAll, test } from "vitest";
import { collectWarnings } from "../../http/support/warnings.ts";
import { connectSentinel, sentinelClients } from "../../sentinel/sentinel-clients.ts";
import { AT_ONCE, lostPrimaries } from "../../support/lost-primaries.ts";
import { startSentinel } from "../../support/redis-sentinel.ts";
import { surviveFailover } from "./failover-survived.ts";

beforeAll(() => collectWarnings().stop);

test.for(lostPrimaries(sentinelClients))(
  "Sentinels name another primary, seen through $library, after one that was $fault: states are what they were",
  { concurrent: AT_ONCE },
  async ({ library, fault }, { onTestFinished }) => {
    const started = await startSentinel();
    onTestFinished(() => started.stop());
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
