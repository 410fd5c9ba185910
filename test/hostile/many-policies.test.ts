import { createLimiter, gcra } from "@headgate/core";
import { expect, test } from "vitest";
import { liveMebibytes } from "./memory-use.ts";

test("20,000 policies of calls take no more memory than the 10,000 cached ones", async () => {
  const limiter = createLimiter({ limits: gcra({ limit: 30, window: "1m" }) });
  // The application keeps its objects, and the limiter nothing of those it has given up.
  const plans = Array.from({ length: 20_000 }, (_, i) => gcra({ limit: 31 + i, window: "1m" }));
  const ask = async (from: number, to: number): Promise<void> => {
    for (const limits of plans.slice(from, to)) await limiter.consume("u", { limits });
  };
  await ask(0, 100);
  const empty = liveMebibytes();
  await ask(100, 10_000);
  const kept = liveMebibytes();
  await ask(10_000, 20_000);
  await ask(0, 10_000);
  expect(kept - empty).toBeGreaterThan(2);
  expect(kept - empty).toBeLessThan(20);
  expect(liveMebibytes() - kept).toBeLessThan((kept - empty) / 4);
  expect(plans).toHaveLength(20_000);
});
