import type { Limit, Limiter } from "@headgate/core";
import {
  createLimiter,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import { clusterClientNames, connectCluster } from "./cluster-clients.ts";
import { subjectOnEach } from "./subjects-of.ts";

/** No unit comes back while a test runs. */
const window = "7d";
const LIMIT = 12;

const algorithms: Record<string, Limit> = {
  gcra: gcra({ limit: LIMIT, window }),
  tokenBucket: tokenBucket({ capacity: LIMIT, refill: 1, every: window }),
  fixedWindow: fixedWindow({ limit: LIMIT, window }),
  "fixedWindow by the clock": fixedWindow({ limit: LIMIT, window: "366d", align: "clock" }),
  "fixedWindow by the calendar": fixedWindow({ limit: LIMIT, window: "year" }),
  slidingWindow: slidingWindow({ limit: LIMIT, window: "366d" }),
  "slidingWindow in buckets": slidingWindow({ limit: LIMIT, window: "366d", buckets: 12 }),
  slidingLog: slidingLog({ limit: LIMIT, window }),
};

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());

describe.each(clusterClientNames)("on a cluster, through %s", (library) => {
  test.for(Object.entries(algorithms))(
    "%s admits exactly its limit on every node",
    async ([name, limit]) => {
      const connections = [
        await connectCluster[library](cluster.addresses),
        await connectCluster[library](cluster.addresses),
      ];
      const limiters = connections.map(({ client }) =>
        createLimiter({ name, limits: [limit], store: redisStore(client), storeTimeout: "30s" }),
      );
      const [first] = limiters;
      const subjects = await subjectOnEach(cluster);
      for (const subject of subjects) {
        const pending = Array.from({ length: 2 * LIMIT }, async (_, i) => {
          const owner = limiters[i % limiters.length] as Limiter;
          return { owner, decision: await owner.consume(subject) };
        });
        const answers = await Promise.all(pending);
        const admitted = answers.filter(({ decision }) => decision.allowed);
        expect(admitted).toHaveLength(LIMIT);
        expect(answers.every(({ decision }) => !decision.degraded)).toBe(true);
        for (const { owner, decision } of admitted.slice(0, LIMIT / 2)) {
          expect(await owner.refund(decision)).toBe(true);
        }
        // A look reports what would be left once its cost were charged. What drained before it was given back is not given twice,
        // so that a unit is not whole until as much has drained again.
        const isDraining = limit.algorithm === "gcra" || limit.algorithm === "tokenBucket";
        const left = LIMIT / 2 - 1;
        expect(isDraining ? [left - 1, left] : [left]).toContain(
          (await first?.peek(subject))?.remaining,
        );
        expect(await first?.reset(subject)).toBe(true);
        expect((await first?.peek(subject))?.remaining).toBe(LIMIT - 1);
      }
      for (const limiter of limiters) await limiter.close();
      for (const connection of connections) await connection.close();
    },
  );
});
