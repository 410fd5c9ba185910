import type { Policy } from "@headgate/core";
import { fixedWindow, gcra, slidingLog, slidingWindow, tokenBucket } from "@headgate/core";
import { expect, test } from "vitest";
import { describePolicy } from "./describe-policy.ts";

const CASES: ReadonlyArray<readonly [Policy, string]> = [
  [gcra({ limit: 0, window: "1m" }), "no requests, per client address"],
  [
    gcra({ limit: 5, window: "1m" }),
    "5 requests at once, then one every 12 seconds, per client address",
  ],
  [
    gcra({ limit: 56, window: "10m", per: "ip" }),
    "56 requests at once, then about one every 10.7 seconds, per client address",
  ],
  [
    gcra({ limit: 60, window: "1m", burst: 1 }),
    "1 request at once, then one every second, per client address",
  ],
  [
    tokenBucket({ capacity: 100, refill: 10, every: "1s", per: "global" }),
    "100 requests at once, then 10 a second, for all clients together",
  ],
  [fixedWindow({ limit: 1_000, window: "day" }), "1,000 requests in each day, per client address"],
  [fixedWindow({ limit: 9, window: "90m" }), "9 requests in each 1.5 hours, per client address"],
  [slidingWindow({ limit: 9, window: "1h" }), "9 requests within any hour, per client address"],
  [
    [slidingLog({ limit: 3, window: "2d", block: "1h" }), gcra({ limit: 1, window: "1s" })],
    "3 requests within any 2 days, per client address, with a block for clients that exceed it; and 1 request at once, then one every second, per client address",
  ],
];

test.each(CASES)("the policy %o is described in words", (policy, words) => {
  expect(describePolicy(policy).text).toBe(words);
});
