import type { Decision, Limit, LimitState } from "@headgate/core";
import {
  createLimiter,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { describe, expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { randomPolicy, withOtherValues } from "../random/limits.ts";
import { randomCost, randomShortWait, randomStart, randomSubjects } from "../random/steps.ts";
import { claim } from "../support/claim.ts";
import { DeployedLimiter } from "../support/deployed-limiter.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { describeStores } from "../support/stores-under-test.ts";

const START = 1_800_000_000_000_000n;

/** So many units in an hour, by each algorithm. */
const ALGORITHMS: Record<string, (limit: number) => Limit> = {
  gcra: (limit) => gcra({ limit, window: "1h" }),
  "gcra with a burst above 30": (limit) =>
    gcra({ limit, window: "1h", ...(limit > 30 && { burst: limit }) }),
  tokenBucket: (limit) => tokenBucket({ capacity: limit, refill: limit, every: "1h" }),
  fixedWindow: (limit) => fixedWindow({ limit, window: "1h" }),
  slidingWindow: (limit) => slidingWindow({ limit, window: "1h" }),
  "slidingWindow in buckets": (limit) => slidingWindow({ limit, window: "1h", buckets: 6 }),
  slidingLog: (limit) => slidingLog({ limit, window: "1h" }),
};

describeStores((tested) => {
  describe.each(Object.entries(ALGORITHMS))("%s", (_, per) => {
    function open() {
      const { clock } = new MicroClock(START);
      const store = tested.open(clock);
      return createLimiter({ ...STORE_ALONE, name: "plans", limits: per(30), store });
    }

    test("an upgrade from 30 to 1,000 with 30 used leaves 970", async () => {
      const limiter = open();
      await limiter.consume("u", { cost: 30 });
      expect(await limiter.consume("u")).toMatchObject({ allowed: false, limit: 30 });
      const upgraded = await limiter.peek("u", { limits: per(1_000), cost: 0 });
      expect(upgraded).toMatchObject({ limit: 1_000, remaining: 970 });
      expect(upgraded.limits.map(({ name }) => name)).toEqual(["30-per-1h"]);
      expect(await limiter.consume("u", { limits: per(1_000), cost: 971 })).toMatchObject({
        allowed: false,
      });
      expect(await limiter.consume("u", { limits: per(1_000), cost: 970 })).toMatchObject({
        allowed: true,
        remaining: 0,
      });
    });

    test("switching between two plans a thousand times gains nothing over the larger one", async () => {
      const limiter = open();
      let admitted = 0;
      for (let flip = 0; flip < 1_000; flip += 1) {
        for (const limits of [per(40), per(400)]) {
          if ((await limiter.consume("u", { limits })).allowed) admitted += 1;
        }
      }
      expect(admitted).toBe(400);
    });

    test("eight concurrent callers with different limits get no more than the largest limit", async () => {
      const limiter = open();
      let admitted = 0;
      const call = async (caller: number): Promise<void> => {
        for (let i = 0; i < 60; i += 1) {
          const limits = per([5, 30, 90, 200][(caller + i) % 4] as number);
          if ((await limiter.consume("u", { limits })).allowed) admitted += 1;
        }
      };
      await Promise.all(Array.from({ length: 8 }, (__, caller) => call(caller)));
      expect(admitted).toBeGreaterThan(90);
      expect(admitted).toBeLessThanOrEqual(200);
    });
  });

  test("a call with other limits is decided as after a deploy of them", async () => {
    await tested.run(80, async (random) => {
      const time = new MicroClock(randomStart(random));
      const base = randomPolicy(random, random.whole(1, 3), random.whole(1, 3));
      const store = tested.open(time.clock);
      const limiter = createLimiter({ ...STORE_ALONE, name: "deployed", limits: base, store });
      const deployed = new DeployedLimiter(tested.open(time.clock), base);
      const dimensions = [...new Set(base.map(({ per = "default" }) => per))];
      const plans = [
        base,
        ...Array.from({ length: 3 }, () => base.map((limit) => withOtherValues(random, limit))),
      ];
      const taken: (readonly [Decision, Decision])[] = [];
      let last: Decision | undefined;
      for (let step = 0; step < 25; step += 1) {
        if (!time.advance(randomShortWait(random, last))) return;
        const limits = random.pick(plans);
        const subjects = randomSubjects(random, dimensions);
        const cost = randomCost(random, last);
        await deployed.deploy(limits);
        const given = random.shuffle(limits);
        const context = () => JSON.stringify({ base, limits, cost, step });
        const back = random.chance(0.15) ? taken.pop() : undefined;
        if (back !== undefined) {
          const [ours, theirs] = await Promise.all([
            limiter.refund(back[0]),
            deployed.refund(back[1]),
          ]);
          claim(ours === theirs, context);
        }
        const charges = random.chance(0.8);
        const [ours, theirs] = await Promise.all([
          charges
            ? limiter.consume(subjects, { limits: given, cost })
            : limiter.peek(subjects, { limits: given, cost }),
          charges ? deployed.consume(subjects, cost) : deployed.peek(subjects, cost),
        ]);
        claim(JSON.stringify(ours.limits) === JSON.stringify(theirs.limits), context);
        claim(ours.allowed === theirs.allowed, context);
        if (charges && ours.allowed) taken.push([ours, theirs]);
        last = ours;
      }
    });
  });

  test("a call without limits uses the limiter's own", async () => {
    const { clock } = new MicroClock(START);
    const limits = fixedWindow({ limit: 5, window: "1h" });
    const limiter = createLimiter({
      ...STORE_ALONE,
      name: "own",
      limits,
      store: tested.open(clock),
    });
    await limiter.consume("u", { limits: fixedWindow({ limit: 50, window: "1h" }), cost: 9 });
    const [own] = (await limiter.peek("u", { cost: 0 })).limits as [LimitState];
    expect(own).toMatchObject({ limit: 5, remaining: 0, overdrawn: 4 });
  });
});
