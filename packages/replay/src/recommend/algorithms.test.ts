import { createLimiter, memoryStore } from "@headgate/core";
import { expect, test } from "vitest";
import type { Algorithm } from "./algorithms.ts";
import { makeLimit, maxAdmitted } from "./algorithms.ts";

/** What somebody gets who asks every tenth of a second, within the best span of 25 s. */
async function mostOf(algorithm: Algorithm): Promise<number> {
  let now = 5_000;
  const limiter = createLimiter({
    name: "greedy",
    limits: makeLimit(algorithm, 7, "10s"),
    store: memoryStore({ clock: () => now }),
  });
  const admitted: number[] = [];
  for (; now < 200_000; now += 100) {
    if ((await limiter.consume("client")).allowed) admitted.push(now);
  }
  await limiter.close();
  return Math.max(
    ...admitted.map((from) => admitted.filter((at) => at >= from && at < from + 25_000).length),
  );
}

test.each(["gcra", "tokenBucket", "fixedWindow", "slidingWindow", "slidingLog"] as const)(
  "a client gets no more than the maximum by %s",
  async (algorithm) => {
    const most = maxAdmitted(algorithm, 7, 10_000, 25_000);
    const got = await mostOf(algorithm);
    expect(got).toBeLessThanOrEqual(most);
    expect(got).toBeGreaterThan(most / 2);
  },
);
