import type { Decision } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { expect, test } from "vitest";
import { KINDS, randomLimit } from "../conformance/random/limits.ts";
import { randomStart } from "../conformance/random/steps.ts";
import type { Admission } from "../conformance/support/admissions.ts";
import { findExcess, findExcessInOwnWindow } from "../conformance/support/admissions.ts";
import { claim } from "../conformance/support/claim.ts";
import { nextGreedyRequest } from "../conformance/support/greedy-sender.ts";
import { MicroClock } from "../conformance/support/micro-clock.ts";
import { describeRedisStore } from "../conformance/support/stores-under-test.ts";
import { countCalls } from "./count-calls.ts";

const HISTORIES = 150;
const LENGTH = 120;
const MAX = 50;

describeRedisStore((tested) => {
  test.each(KINDS)(
    "limiters with leases admit no more than %s guarantees plus the units held in leases",
    async (kind) => {
      let leased = 0;
      await tested.run(HISTORIES, async (random) => {
        const limit = randomLimit(random, kind, "wide");
        const time = new MicroClock(randomStart(random));
        const ttl = random.magnitude(1, 60_000);
        const { store, settled } = countCalls(tested.open(time.clock));
        const options = { name: "aimed", limits: limit, store, storeTimeout: "1m" } as const;
        // Two limiters that lease from the same counters, as two processes do.
        const limiters = [1, 2].map(() => createLimiter({ ...options, lease: { max: MAX, ttl } }));
        const admissions: Admission[] = [];
        let last: Decision | undefined;
        for (let step = 0; step < LENGTH; step += 1) {
          const { wait, cost } = random.chance(0.7)
            ? { wait: BigInt(random.pick([0, 0, 1, 10])), cost: random.pick([1, 1, 1, 2]) }
            : nextGreedyRequest(random, limit, time.now, last);
          // A call in flight would set the clock back with it.
          await settled();
          time.advance(wait);
          last = await random.pick(limiters).consume("sender", { cost });
          if (last.source === "lease") leased += 1;
          if (last.allowed) admissions.push({ at: time.now, cost });
        }
        // The limit of a fixed window holds in each window, whatever leases hold.
        const isFixed = limit.algorithm === "fixedWindow";
        const held = isFixed ? 0n : BigInt(MAX * limiters.length);
        const isByClock = isFixed && limit.align === "clock";
        const excess =
          findExcess(limit, admissions, held) ??
          (isByClock ? findExcessInOwnWindow(limit, admissions) : undefined);
        claim(excess === undefined, () => `${excess}: ${JSON.stringify({ limit, ttl })}`);
        await Promise.all(limiters.map((limiter) => limiter.close()));
      });
      expect(leased).toBeGreaterThan(HISTORIES);
    },
  );
});
