import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Limiter, Store } from "@headgate/core";
import { createLimiter, fixedWindow } from "@headgate/core";
import { readUsage } from "@headgate/core/admin";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, onTestFinished, test } from "vitest";
import { ProcessUsage, usageOf } from "../../packages/core/src/usage/process-usage.ts";
import { Random } from "../conformance/random/random.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { count, countsOf, expectWithinBounds, sortedOf } from "./exact.ts";

const own = useOwnRedis();

const LOG = readFileSync(join(import.meta.dirname, "../../examples/access-log/sample.log"), "utf8");
const CLIENTS = LOG.trim()
  .split("\n")
  .map((line) => line.slice(0, line.indexOf(" ")));

/** How many a limit of 20 for each client allows. */
const ALLOWED = sortedOf(countsOf(CLIENTS)).reduce(
  (sum, [, times]) => sum + Math.min(times, 20),
  0,
);

/** At the beginning of ten minutes. */
const FROM = 1_800_000_000_000;

function makeLimiter(store: Store): Limiter {
  const limits = fixedWindow({ limit: 20, window: "1d" });
  const limiter = createLimiter({
    name: "site",
    limits,
    store,
    storeTimeout: "1m",
    denyCache: false,
  });
  onTestFinished(() => limiter.close());
  return limiter;
}

describe.each(["hashed", "plain"] as const)("an access log, with %s subjects", (subjects) => {
  test("gives exact totals, and clients within their error bounds", async () => {
    let now = FROM;
    const store = requireStore(redisStore(own.client, { usage: { subjects }, clock: () => now }));
    const limiter = makeLimiter(store);
    const used = new Map<string, number>();
    const denied = new Map<string, number>();
    let turns = 0;
    for (let from = 0; from < CLIENTS.length; from += 250) {
      await Promise.all(
        CLIENTS.slice(from, from + 250).map(async (client) => {
          const { allowed } = await limiter.consume(client);
          count(used, client);
          if (!allowed) count(denied, client);
        }),
      );
      now += 5_000;
      turns += 1;
      await usageOf(store).send();
    }
    // The last subjects are sent then.
    await limiter.close();
    const { at, limiters, unreadable } = await readUsage(store);
    expect(at).toBe(now);
    expect(unreadable).toEqual([]);
    const [site] = limiters;
    const refused = [...denied.values()].reduce((sum, times) => sum + times, 0);
    expect(refused).toBe(CLIENTS.length - ALLOWED);
    expect(site).toMatchObject({
      name: "site",
      total: { allowed: ALLOWED, denied: CLIENTS.length - ALLOWED, degraded: 0 },
      subjects: { from: FROM - 3_600_000 },
    });
    // Two turns of five seconds are in each ten.
    expect(site?.tenSeconds).toHaveLength(Math.ceil(turns / 2));
    expect(site?.minutes).toHaveLength(Math.ceil((turns * 5) / 60));
    for (const list of [site?.subjects.used, site?.subjects.denied]) {
      if (list === undefined) throw new Error("there is no list");
      expectWithinBounds(list, list === site?.subjects.used ? used : denied);
      expect(list.top.every((one) => (one.hash === undefined) === (subjects === "plain"))).toBe(
        true,
      );
    }
    const topmost = sortedOf(denied)[0];
    expect(site?.subjects.denied.top[0]?.count).toBe(topmost?.[1]);
  });
});

/** Subjects whose frequencies are as the powers of their ranks. */
function zipf(skew: number, subjects: number, random: Random): () => string {
  const sums: number[] = [];
  let sum = 0;
  for (let rank = 1; rank <= subjects; rank += 1) {
    sum += rank ** -skew;
    sums.push(sum);
  }
  return () => {
    const at = random.fraction() * sum;
    let low = 0;
    let high = subjects - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] as number) < at) low = middle + 1;
      else high = middle;
    }
    return `subject ${low}`;
  };
}

describe.each([0, 0.8, 1, 1.2, 1.5])("Zipf traffic with a skew of %f", (skew) => {
  test("of four processes is within the reported errors, and these within the documented bound", async () => {
    let now = FROM;
    const random = new Random(42);
    const next = zipf(skew, 20_000, random);
    const store = requireStore(redisStore(own.client, { clock: () => now }));
    const fleet = Array.from({ length: 4 }, () => new ProcessUsage("hg", (error) => fail(error)));
    const used = new Map<string, number>();
    const denied = new Map<string, number>();
    const decisions = 60_000;
    const limiters = fleet.map((one) => one.add(store, "api", "hashed"));
    for (let turn = 0; turn < 30; turn += 1) {
      for (let i = 0; i < decisions / 30; i += 1) {
        const subject = next();
        const wouldAllow = random.chance(0.7);
        count(used, subject);
        if (!wouldAllow) count(denied, subject);
        limiters[i % 4]?.record({ default: subject }, {
          wouldAllow,
          degraded: false,
          limits: [{ allowed: wouldAllow, per: "default" }],
        } as never);
      }
      now += 5_000;
      for (const one of fleet) await one.send();
    }
    await Promise.all(fleet.map((one) => one.remove("api")));
    const [api] = (await readUsage(store, { span: "10m" })).limiters;
    const { allowed = 0, denied: refused = 0 } = api?.total ?? {};
    expect(allowed + refused).toBe(decisions);
    for (const [list, exact] of [
      [api?.subjects.used, used],
      [api?.subjects.denied, denied],
    ] as const) {
      if (list === undefined) throw new Error("there is no list");
      expectWithinBounds(list, exact);
      const bound = list.total * (1 / 65 + 1 / 65);
      for (const { error } of list.top) expect(error).toBeLessThanOrEqual(bound);
      expect(list.maxUnlisted).toBeLessThanOrEqual(bound);
      // Whoever is above the bound has to be there; where the first ten are, they are all there.
      const ten = sortedOf(exact).slice(0, 10);
      const least = ten.at(-1)?.[1] ?? 0;
      if (skew > 1) expect(least).toBeGreaterThan(list.maxUnlisted);
    }
  });
});

function fail(error: Error): void {
  throw error;
}
