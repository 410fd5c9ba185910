import { concurrency, fixedWindow, gcra, tokenBucket } from "@headgate/core";
import { expect, test } from "vitest";
import { describePolicy } from "../replay/describe-policy.ts";
import { limitLines } from "./peaks-section.ts";

test("a limit is drawn among the peaks of its own window", () => {
  const policies = [
    gcra({ limit: 30, window: "1m" }),
    [
      tokenBucket({ capacity: 100, refill: 10, every: 60_000 }),
      fixedWindow({ limit: 1_000, window: "day" }),
      concurrency({ limit: 5, ttl: "1m" }),
      gcra({ limit: 60, window: "2m", burst: 20, per: "ip" }),
    ],
  ].map((policy) => describePolicy(policy).grants);
  expect(limitLines(policies, 60_000)).toEqual([{ policy: 1, units: 30 }]);
  expect(limitLines(policies, 600_000)).toEqual([{ policy: 2, units: 100 }]);
  expect(limitLines(policies, 40_000)).toEqual([{ policy: 2, units: 20 }]);
  expect(limitLines(policies, 86_400_000)).toEqual([{ policy: 2, units: 1_000 }]);
  expect(limitLines(policies, 1_000)).toEqual([]);
});
