import type { Limit } from "@headgate/core";
import {
  createLimiter,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { randomPolicy, withOtherValues } from "../random/limits.ts";
import { randomStart } from "../random/steps.ts";
import { claim, claimSame } from "../support/claim.ts";
import { DeployedLimiter } from "../support/deployed-limiter.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { describeStores } from "../support/stores-under-test.ts";

/*
 * The keys of a policy contain the shape of the limits of each dimension. Counts continue as long as the shape is the same.
 */

const SUBJECTS = { default: "somebody", ip: "192.0.2.1", tenant: "acme" };

const perHour = (limit: number, more: { name?: string; per?: string } = {}): Limit =>
  gcra({ limit, window: "1h", ...more }) as Limit;

/** Other limits than ten an hour by `gcra`, each of which counts for itself. */
const OTHERS: Record<string, Limit> = {
  "another window": gcra({ limit: 10, window: "2h" }),
  "another algorithm": tokenBucket({ capacity: 10, refill: 10, every: "1h" }),
  "a window": fixedWindow({ limit: 10, window: "1h" }),
  "a window with another align": fixedWindow({ limit: 10, window: "1h", align: "clock" }),
  "two windows": slidingWindow({ limit: 10, window: "1h" }),
  "windows in buckets": slidingWindow({ limit: 10, window: "1h", buckets: 6 }),
  "windows in more buckets": slidingWindow({ limit: 10, window: "1h", buckets: 7 }),
  "a log": slidingLog({ limit: 10, window: "1h" }),
  "a log of another window": slidingLog({ limit: 10, window: "61m" }),
  "another dimension": gcra({ limit: 10, window: "1h", per: "ip" }) as Limit,
};

describeStores((tested) => {
  function open(...limits: readonly Limit[]): DeployedLimiter {
    return new DeployedLimiter(tested.open(new MicroClock(1_800_000_000_000_000n).clock), limits);
  }

  /** What is used of each limit, by its name. */
  async function usedOf(deployed: DeployedLimiter): Promise<Record<string, number>> {
    const { limits } = await deployed.peek(subjectsOf(deployed.limits), 0);
    return Object.fromEntries(
      limits.map(({ name, limit, remaining, overdrawn }) => [name, limit - remaining + overdrawn]),
    );
  }

  test("a changed number keeps the count, and another shape has a count of its own", async () => {
    const all = { "ten an hour": perHour(10), ...OTHERS };
    for (const [from, first] of Object.entries(all)) {
      const deployed = open({ ...first, name: "limit" });
      await deployed.consume(subjectsOf([first]), 4);
      for (const [to, second] of Object.entries(all)) {
        await deployed.deploy([{ ...second, name: "limit" }]);
        const used = await usedOf(deployed);
        expect({ from, to, used }).toEqual({ from, to, used: { limit: from === to ? 4 : 0 } });
      }
    }
  });

  test("a burst and the same limit without one share the count", async () => {
    const deployed = open(perHour(10));
    await deployed.consume(subjectsOf(deployed.limits), 4);
    await deployed.deploy([gcra({ limit: 20, window: "60m", burst: 5, name: "limit" })]);
    expect(await usedOf(deployed)).toEqual({ limit: 4 });
    await deployed.deploy([gcra({ limit: 5, window: 3_600_000, burst: 5, name: "limit" })]);
    expect(await usedOf(deployed)).toEqual({ limit: 4 });
  });

  test("adding or removing a limit of another dimension keeps the other counts", async () => {
    const perAddress = perHour(10, { per: "ip", name: "address" });
    const perTenant = perHour(1_000, { per: "tenant", name: "tenant" });
    const deployed = open(perAddress);
    await deployed.consume(subjectsOf(deployed.limits), 4);
    await deployed.deploy([perTenant, perAddress]);
    expect(await usedOf(deployed)).toEqual({ address: 4, tenant: 0 });
    await deployed.consume(subjectsOf(deployed.limits), 3);
    await deployed.deploy([perAddress]);
    expect(await usedOf(deployed)).toEqual({ address: 7 });
    await deployed.deploy([perAddress, perTenant]);
    expect(await usedOf(deployed)).toEqual({ address: 7, tenant: 3 });
  });

  test("adding a limit to a dimension starts that dimension's counts anew", async () => {
    const deployed = open(perHour(10, { name: "hour" }));
    await deployed.consume(subjectsOf(deployed.limits), 4);
    await deployed.deploy([...deployed.limits, gcra({ limit: 100, window: "1d", name: "day" })]);
    expect(await usedOf(deployed)).toEqual({ hour: 0, day: 0 });
  });

  test("reordering limits and changing their numbers moves no count to another limit", async () => {
    await tested.run(24, async (random) => {
      const time = new MicroClock(randomStart(random));
      const limits = randomPolicy(random, random.whole(2, 5), 2);
      const subjects = subjectsOf(limits);
      const steady = new DeployedLimiter(tested.open(time.clock), limits, "steady");
      const changing = new DeployedLimiter(tested.open(time.clock), limits, "changing");
      for (let step = 0; step < 12; step += 1) {
        await changing.deploy(
          random.shuffle(
            limits.map((limit) => (random.chance(0.5) ? withOtherValues(random, limit) : limit)),
          ),
        );
        const { allowed, remaining } = await changing.peek(subjects);
        const cost = random.magnitude(1, Math.max(1, remaining));
        const there = await steady.peek(subjects, cost);
        if (!allowed || !there.allowed) continue;
        // Charged by other numbers in another order, the counts are those of the first numbers in the first order.
        const decision = await changing.consume(subjects, cost);
        if (decision.allowed) await steady.consume(subjects, cost);
      }
      await changing.deploy(limits);
      claimSame(await changing.peek(subjects, 0), await steady.peek(subjects, 0), () =>
        JSON.stringify(limits),
      );
    });
  });

  test("two limits of one shape are distinguished by their names, in any order", async () => {
    const [burst, total] = [perHour(10, { name: "burst" }), perHour(100, { name: "total" })];
    const deployed = open(burst, total);
    await deployed.consume(subjectsOf(deployed.limits), 4);
    expect(await usedOf(deployed)).toEqual({ burst: 4, total: 4 });
    await deployed.deploy([total, burst]);
    expect(await usedOf(deployed)).toEqual({ burst: 4, total: 4 });
    await deployed.deploy([perHour(1, { name: "total" }), perHour(1_000, { name: "burst" })]);
    expect(await usedOf(deployed)).toEqual({ burst: 4, total: 4 });
    await deployed.deploy([perHour(10, { name: "surge" }), total]);
    expect(await usedOf(deployed)).toEqual({ surge: 0, total: 0 });
    await deployed.deploy([total, burst]);
    expect(await usedOf(deployed)).toEqual({ burst: 4, total: 4 });
  });

  test("two limits of one shape keep their counts when they are reordered", async () => {
    const time = new MicroClock(1_800_000_000_000_000n);
    const level = (limit: number, name: string): Limit =>
      gcra({ limit, window: "1h", burst: 1_000, name });
    const [slow, fast] = [level(60, "slow"), level(600, "fast")];
    const deployed = new DeployedLimiter(tested.open(time.clock), [slow, fast]);
    await deployed.consume(subjectsOf([slow]), 50);
    time.advance(120_000_000n);
    await deployed.consume(subjectsOf([slow]), 1);
    expect(await usedOf(deployed)).toEqual({ slow: 49, fast: 31 });
    await deployed.deploy([fast, slow]);
    expect(await usedOf(deployed)).toEqual({ slow: 49, fast: 31 });
  });

  test("a limit's name is not part of the key when shapes differ", async () => {
    const deployed = open(perHour(10, { name: "one" }), slidingLog({ limit: 9, window: "1h" }));
    await deployed.consume(subjectsOf(deployed.limits), 4);
    await deployed.deploy([
      slidingLog({ limit: 9, window: "1h", name: "log" }),
      perHour(10, { name: "other" }),
    ]);
    expect(await usedOf(deployed)).toEqual({ log: 4, other: 4 });
  });

  test("two limits of one dimension and shape need explicit names", () => {
    const store = tested.open(new MicroClock(0n).clock);
    const make = (...limits: readonly Limit[]) => {
      createLimiter({ ...STORE_ALONE, name: "twice", limits, store });
    };
    const twice = { code: "HEADGATE_INVALID_LIMIT", message: expect.stringContaining("name") };
    expect(() => make(perHour(10), perHour(100))).toThrow(expect.objectContaining(twice));
    expect(() => make(perHour(10, { name: "a" }), perHour(100))).toThrow(
      expect.objectContaining(twice),
    );
    expect(() => make(perHour(10), gcra({ limit: 10, window: "60m", burst: 3 }))).toThrow(
      expect.objectContaining(twice),
    );
    make(perHour(10), perHour(100, { per: "tenant" }));
  });

  test("a name belongs to one set of limits at a time, and passes its counts on once it is free", async () => {
    const time = new MicroClock(1_800_000_000_000_000n);
    const options = { ...STORE_ALONE, name: "api", store: tested.open(time.clock) };
    const first = createLimiter({ ...options, limits: perHour(30) });
    await first.consume("somebody", { cost: 30 });
    const duplicate = expect.objectContaining({ code: "HEADGATE_DUPLICATE_NAME" });
    expect(() => createLimiter({ ...options, limits: perHour(1_000) })).toThrow(duplicate);
    const same = createLimiter({ ...options, limits: perHour(30) });
    await first.close();
    expect(() => createLimiter({ ...options, limits: perHour(1_000) })).toThrow(duplicate);
    await same.close();
    const second = createLimiter({ ...options, limits: perHour(1_000) });
    expect(await second.peek("somebody", { cost: 0 })).toMatchObject({ remaining: 970 });
    claim(!(await second.consume("somebody", { cost: 971 })).allowed, () => "more than is left");
  });
});

/** The subject of each dimension that is counted by. */
function subjectsOf(limits: readonly Limit[]): Record<string, string> {
  const dimensions = new Set(limits.map(({ per = "default" }) => per));
  return Object.fromEntries(
    Object.entries({ ...SUBJECTS, route: "route" }).filter(([dimension]) =>
      dimensions.has(dimension),
    ),
  );
}
