import { createLimiter, gcra } from "@headgate/core";
import type { LimiterDefinition } from "@headgate/core/admin";
import { createAdmin, hashSubject, readUsage } from "@headgate/core/admin";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { limiterKey } from "../../packages/core/src/usage/layout.ts";
import { addUsage } from "../../packages/core/src/usage/operations.ts";
import { useOwnRedis } from "../support/own-redis.ts";

const own = useOwnRedis();

/** At the beginning of ten minutes. */
const NOW = 1_800_000_000_000;
const TEN_MINUTES = 600_000;
/** Of which a list keeps the name only in escapes, which stand in JSON as other escapes. */
const ODD = 'GET /a"b\\c ü\n\u{1f600}';

const api = { name: "api", limits: gcra({ limit: 2, window: "1h" }) };
const pairs = {
  name: "pairs",
  limits: [
    gcra({ limit: 2, window: "1h", per: "ip" }),
    gcra({ limit: 9, window: "1h", per: "account" }),
  ],
};

/** Asks a limiter some times at a moment, by a process that ends then. */
async function ask(
  limiter: LimiterDefinition,
  subjects: readonly (string | Record<string, string>)[],
  { now = NOW, usage = "plain" }: { now?: number; usage?: "plain" | "hashed" } = {},
): Promise<void> {
  const store = redisStore(own.client, { clock: () => now, usage: { subjects: usage } });
  const made = createLimiter({ ...limiter, store, storeTimeout: "1m", denyCache: false });
  for (const subject of subjects) await made.consume(subject as string);
  await made.close();
}

const operatorAt = (now: number) => createAdmin(redisStore(own.client, { clock: () => now }));

async function usageOf(limiter: string, now = NOW) {
  const store = redisStore(own.client, { clock: () => now });
  const { limiters, unreadable } = await readUsage(store, { limiter, span: "24h" });
  expect(unreadable).toEqual([]);
  const [found] = limiters;
  if (found === undefined) throw new Error(`no usage of ${limiter}`);
  return found;
}

/** What is in all lists. */
async function listsText(): Promise<string> {
  const keys = await own.client.keys("*{usage}:*");
  const values = keys.map((key) =>
    /:(?:used|denied)\//.test(key) ? own.client.zrange(key, "0", "-1") : own.client.hkeys(key),
  );
  return (await Promise.all(values)).flat().join();
}

const usedKey = (number: number) =>
  limiterKey("hg", "api", "used", (NOW + number * TEN_MINUTES) * 1_000);

describe.each(["plain", "hashed"] as const)("a forgotten subject, %s", (usage) => {
  test.each([["ann"], [ODD], ["x".repeat(200)]])(
    "%j is in no list, and whoever else was asked about stays",
    async (subject) => {
      await ask(api, [subject, subject, subject, "bob", "bob", "bob", "eve"], { usage });
      const before = await usageOf("api");
      expect(before.subjects.used.top).toHaveLength(3);
      const { clearedLists } = await operatorAt(NOW).forget(api, subject);
      expect(clearedLists).toBe(1);
      const { total, tenSeconds, subjects } = await usageOf("api");
      const isOther = (one: { hash?: string; subject?: string }) =>
        one.hash !== hashSubject(subject) && one.subject !== subject;
      expect({ total, tenSeconds }).toEqual({ total: before.total, tenSeconds: before.tenSeconds });
      for (const by of ["used", "denied"] as const) {
        const others = before.subjects[by].top.filter(isOther as (one: object) => boolean);
        expect(others.length).toBe(before.subjects[by].top.length - 1);
        expect(subjects[by]).toEqual({ ...before.subjects[by], top: others });
      }
      expect(await listsText()).not.toContain(hashSubject(subject));
      expect((await operatorAt(NOW).forget(api, subject)).clearedLists).toBe(0);
    },
  );
});

test("a forgotten subject is named no longer by the error of its count", async () => {
  const list = [1, 9, "default ann", 5, 2, "default bob", 4, 1];
  await requireStore(redisStore(own.client, { clock: () => NOW })).run(addUsage, {
    prefix: "hg",
    process: "process-00000000",
    number: 1,
    clock: NOW * 1_000,
    clockOffset: 0,
    limiters: [{ name: "api", rows: [], subjects: { used: list, denied: list, denials: {} } }],
    blocks: [],
  });
  expect(await listsText()).toContain("used default ann");
  await operatorAt(NOW).forget(api, "ann");
  const text = await listsText();
  expect(text).not.toContain("ann");
  expect(text).toContain("used default bob");
  expect(text).toContain("denied default bob");
});

test("a subject is forgotten in the named dimensions only", async () => {
  const both = { ip: "203.0.113.7", account: "ann" };
  await ask(pairs, [both, { ...both, ip: "ann" }, { ...both, account: "203.0.113.7" }]);
  await operatorAt(NOW).forget(pairs, { ip: "203.0.113.7" });
  const first = (await usageOf("pairs")).subjects.used.top;
  expect(first.map(({ dimension, subject }) => `${dimension} ${subject}`).sort()).toEqual([
    "account 203.0.113.7",
    "account ann",
    "ip ann",
  ]);
  await operatorAt(NOW).forget(pairs, { ip: "ann", account: "ann" });
  const { top } = (await usageOf("pairs")).subjects.used;
  expect(top).toMatchObject([{ dimension: "account", subject: "203.0.113.7" }]);
});

test("a subject is forgotten in all lists of the day, which keep their expiry", async () => {
  const times = [0, TEN_MINUTES, 10 * TEN_MINUTES, 143 * TEN_MINUTES];
  for (const ms of times) await ask(api, ["ann", "bob"], { now: NOW + ms });
  const rest = await own.client.pttl(usedKey(143));
  const day = NOW + 143 * TEN_MINUTES;
  const counted = (await usageOf("api", day)).subjects.used;
  expect(counted.top).toMatchObject([{ count: 4 }, { count: 4 }]);
  // Whoever else asked at the same time is in lists of their own.
  await ask({ ...api, name: "other" }, ["ann"], { now: day });
  expect((await operatorAt(day).forget(api, "ann")).clearedLists).toBe(4);
  expect((await usageOf("api", day)).subjects.used).toEqual({
    ...counted,
    top: [{ dimension: "default", subject: "bob", count: 4, error: 0 }],
  });
  const left = await own.client.pttl(usedKey(143));
  expect(left).toBeLessThanOrEqual(rest);
  expect(left).toBeGreaterThan(rest - 60_000);
  expect((await usageOf("other", day)).subjects.used.top).toHaveLength(1);
});

test("a subject is forgotten in the oldest list that Redis may still keep, and in one of a process whose clock is ahead", async () => {
  const end = NOW + TEN_MINUTES;
  await ask(api, ["ann"]);
  await ask(api, ["ann"], { now: end });
  expect((await listsText()).match(/default ann/g)).toHaveLength(2);
  // A list lives for 25 hours after the end of its ten minutes.
  const last = end + 25 * 3_600_000;
  expect((await operatorAt(last).forget(api, "ann", { dryRun: true })).clearedLists).toBe(2);
  expect((await operatorAt(last).forget(api, "ann")).clearedLists).toBe(2);
  expect(await listsText()).not.toContain("ann");

  await ask(api, ["bob"], { now: end });
  expect((await operatorAt(end - 1).forget(api, "bob")).clearedLists).toBe(1);
  expect(await listsText()).not.toContain("bob");
});

test("values that are not lists stay when a subject is forgotten", async () => {
  await ask(api, ["ann"]);
  await own.client.set(usedKey(-1), "default ann");
  await own.client.lpush(usedKey(-2), "default ann");
  expect((await operatorAt(NOW).forget(api, "ann")).clearedLists).toBe(1);
  const left = [0, -1, -2].map((number) => own.client.exists(usedKey(number)));
  expect(await Promise.all(left)).toEqual([0, 1, 1]);
});

test("a forgotten subject is counted again after its next request", async () => {
  await ask(api, ["ann", "ann"]);
  await operatorAt(NOW).forget(api, "ann");
  await ask(api, ["ann"]);
  expect((await usageOf("api")).subjects.used).toMatchObject({
    top: [{ subject: "ann", count: 1, error: 0 }],
    total: 3,
  });
});
