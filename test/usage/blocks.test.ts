import { setTimeout as delay } from "node:timers/promises";
import type { Limit, Store } from "@headgate/core";
import { createLimiter, fixedWindow, gcra } from "@headgate/core";
import { createAdmin, hashSubject, readBlocks, readRegistry } from "@headgate/core/admin";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { BlockSightings } from "../../packages/core/src/usage/block-sightings.ts";
import type { BlockEntry } from "../../packages/core/src/usage/operations.ts";
import { addUsage } from "../../packages/core/src/usage/operations.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { sendUsage } from "../support/send-usage.ts";
import { writeRegistry } from "../support/write-registry.ts";

const own = useOwnRedis();
const LIST = "hg:blocks{usage}";
const LIMITS = fixedWindow({ name: "tries", limit: 1, window: "1h", block: "2h" });

interface Made {
  readonly name?: string;
  readonly limits?: Limit | readonly Limit[];
  readonly usage?: boolean | { readonly subjects: "plain" };
  readonly shadow?: boolean;
}

/** A limiter in a process that is listed. */
async function start({ name = "login", limits = LIMITS, usage = true, shadow = false }: Made = {}) {
  // A client of its own: a process remembers the blocks that it has sent.
  const client = new Redis(own.server.socket);
  const store = redisStore(client, { usage });
  const limiter = createLimiter({ name, store, limits, shadow, storeTimeout: "1m" });
  onTestFinished(async () => {
    await limiter.close();
    client.disconnect();
  });
  await writeRegistry(store);
  return { store, limiter, operator: createAdmin(store), limits: { name, limits } as never };
}

/** Has a limit block somebody, who asks once more. */
async function blockByLimit(
  limiter: { consume(subject: string): Promise<unknown> },
  store: Store,
  subject: string,
): Promise<void> {
  for (let i = 0; i < 3; i += 1) await limiter.consume(subject);
  await sendUsage(store);
}

describe("a block by a limit", () => {
  test("is listed after its first denial, as a hash or in plain text", async () => {
    const { limiter, store } = await start();
    await blockByLimit(limiter, store, "ann");
    const { at, blocks, ...rest } = await readBlocks(own.client);
    expect(rest).toEqual({ isComplete: true, uncheckedCount: 0, unreadable: [] });
    const hash = hashSubject("ann");
    const named = { limiter: "login", dimension: "default", limit: "tries", shadow: false };
    expect(blocks).toEqual([{ ...named, hash, until: expect.any(Number) }]);
    const twoHours = 7_200_000;
    expect((blocks[0]?.until ?? 0) - at).toBeGreaterThan(twoHours - 60_000);
    expect((blocks[0]?.until ?? 0) - at).toBeLessThanOrEqual(twoHours);
    await limiter.close();
    const { limiter: plain, store: other } = await start({ usage: { subjects: "plain" } });
    await blockByLimit(plain, other, "bob");
    const found = (await readBlocks(other)).blocks;
    expect(found).toHaveLength(2);
    expect(found).toContainEqual({ ...named, subject: "bob", until: expect.any(Number) });
  });

  test("is listed until its end, also if the request that was denied could never pass", async () => {
    const limits = fixedWindow({ name: "tries", limit: 3, window: "1h", block: "2h" });
    const { limiter, store } = await start({ limits });
    for (let i = 0; i < 4; i += 1) await limiter.consume("ann");
    const { blocked, retryAfterMs } = await limiter.consume("ann", { cost: 4 });
    expect([blocked, retryAfterMs]).toEqual([true, Number.POSITIVE_INFINITY]);
    await sendUsage(store);
    const ends = await own.client.zscore(LIST, "login default hann");
    const [now = 0] = await own.client.time();
    expect(Number(ends) - now).toBeGreaterThan(7_200 - 60);
    expect(Number(ends) - now).toBeLessThanOrEqual(7_200 + 1);
  });

  test("is no longer listed after it is lifted, or the subject is reset", async () => {
    const { limiter, store, operator: admin, limits } = await start();
    for (const subject of ["ann", "bob"]) await blockByLimit(limiter, store, subject);
    await admin.unblock(limits, "ann");
    expect((await readBlocks(store)).blocks).toMatchObject([{ hash: hashSubject("bob") }]);
    await own.client.flushall();
    expect((await readBlocks(store)).blocks).toEqual([]);
  });

  test("of a long or unusual subject, and of the global subject, is listed", async () => {
    const limits = [
      fixedWindow({ per: "user", limit: 1, window: "1h", block: "1h" }),
      fixedWindow({ per: "global", limit: 2, window: "1h", block: "1h" }),
    ];
    const { limiter, store } = await start({ limits, usage: { subjects: "plain" } });
    const odd = "GET /a b\n{x} ü";
    const long = "x".repeat(100);
    for (const user of [odd, odd, odd, long, long, long]) await limiter.consume({ user } as never);
    await sendUsage(store);
    const { blocks } = await readBlocks(store);
    const who = blocks.map(({ dimension, subject, hash }) => `${dimension} ${subject ?? hash}`);
    expect(who.sort()).toEqual([`global *`, `user ${odd}`, `user ${hashSubject(long)}`].sort());
  });

  test("of a limiter in shadow mode is marked as such", async () => {
    const { store, operator: admin, limits, limiter } = await start({ shadow: true });
    await admin.block(limits, "ann", "1h");
    await limiter.consume("ann");
    await sendUsage(store);
    expect((await readBlocks(store)).blocks).toMatchObject([{ subject: "ann", shadow: true }]);
    await admin.setOverride({ limiter: "login", shadow: false });
    expect((await readBlocks(store)).blocks).toMatchObject([{ shadow: false }]);
  });

  test("belongs to the limiter that owns the counter, also if another one extends it", async () => {
    const client = new Redis(own.server.socket);
    const store = redisStore(client, { usage: { subjects: "plain" } });
    const options = { store, storeTimeout: "1m" } as const;
    const base = createLimiter({ ...options, name: "base", limits: LIMITS });
    const limits = gcra({ limit: 100, window: "1m" });
    const route = createLimiter({ ...options, name: "route", limits, extends: base });
    onTestFinished(async () => {
      await route.close();
      await base.close();
      client.disconnect();
    });
    await writeRegistry(store);
    await blockByLimit(route, store, "ann");
    const { blocks } = await readBlocks(store);
    expect(blocks).toMatchObject([{ limiter: "base", limit: "tries", subject: "ann" }]);
    // The listed denial by the other limiter does not hide who set a block by hand.
    await createAdmin(store).block({ name: "base", limits: LIMITS }, "bob", "1h", { by: "joe" });
    await blockByLimit(route, store, "bob");
    const ofBob = (await readBlocks(store)).blocks.filter(({ subject }) => subject === "bob");
    expect(ofBob).toMatchObject([{ limiter: "base", by: "joe" }]);
  });
});

describe("a manual block", () => {
  test("is listed at once with its operator and reason, also without usage", async () => {
    const { store, operator: admin, limits } = await start({ usage: false });
    await admin.block(limits, "ann", "1h", { by: "joe", reason: "first" });
    await admin.block(limits, "ann", "2h", { by: "eve", reason: "abuse" });
    const registry = await readRegistry(store);
    const { at, blocks } = await readBlocks(store, { registry });
    const until = expect.any(Number);
    expect(blocks).toEqual([
      {
        ...{ limiter: "login", dimension: "default", subject: "ann", until, shadow: false },
        ...{ setAt: until, by: "eve", reason: "abuse" },
      },
    ]);
    expect((blocks[0]?.until ?? 0) - at).toBeGreaterThan(7_100_000);
    await admin.unblock(limits, "ann");
    expect((await readBlocks(store)).blocks).toEqual([]);
  });

  test("names the operator who set it, and none for one of the application that replaced it", async () => {
    const { store, limiter, operator: admin, limits } = await start({ usage: false });
    await admin.block(limits, "ann", "1h", { by: "joe", reason: "abuse" });
    await limiter.block("ann", "2h");
    expect(Object.keys((await readBlocks(store)).blocks[0] ?? {})).not.toContain("setAt");
    // The operator's block is shorter, and changes nothing.
    await admin.block(limits, "ann", "1h", { by: "joe", reason: "abuse" });
    expect((await readBlocks(store)).blocks[0]).not.toHaveProperty("by");
    await admin.block(limits, "ann", "3h", { by: "eve" });
    await admin.block(limits, "ann", "1h", { by: "joe" });
    expect((await readBlocks(store)).blocks).toMatchObject([{ by: "eve" }]);
    // The log still has a block that was lifted.
    await admin.unblock(limits, "ann");
    await limiter.block("ann", "30m");
    expect((await readBlocks(store)).blocks[0]).not.toHaveProperty("by");
  });

  test("is not listed after it expired", async () => {
    const { store, operator: admin, limits } = await start({ usage: false });
    await admin.block(limits, "ann", "30ms");
    await delay(50);
    expect((await readBlocks(store)).blocks).toEqual([]);
  });

  test.each([
    ["in plain text", { subjects: "plain" }, "p"],
    ["as a hash", true, "h"],
  ] as const)("is removed with its forgotten subject, stored %s", async (_, usage, letter) => {
    const { store, operator: admin, limits, limiter } = await start({ usage });
    await admin.block(limits, "ann", "1h");
    await admin.block(limits, "bob", "1h");
    for (const subject of ["ann", "bob"]) await limiter.consume(subject);
    await sendUsage(store);
    expect(await own.client.zscore(LIST, `login default ${letter}ann`)).not.toBeNull();
    const dry = await admin.forget(limits, "ann", { dryRun: true });
    expect(dry.clearedLists).toBe(2);
    expect(await admin.forget(limits, "ann")).toMatchObject({ clearedLists: 2 });
    expect(await own.client.zrange(LIST, "0", "-1")).toEqual([`login default ${letter}bob`]);
    await admin.forget(limits, "bob");
    expect(await own.client.exists(LIST)).toBe(0);
  });
});

describe("a block that an application sets with a reason", () => {
  const reason = "api.github.com answered 429";

  test("is listed with it before it denies a request", async () => {
    const { store, limiter } = await start({ usage: { subjects: "plain" } });
    await limiter.block("ann", "1h", { reason });
    await sendUsage(store);
    const { at, blocks } = await readBlocks(store);
    const until = expect.any(Number);
    const named = { limiter: "login", dimension: "default", subject: "ann", shadow: false };
    expect(blocks).toEqual([{ ...named, until, reason }]);
    expect((blocks[0]?.until ?? 0) - at).toBeGreaterThan(3_500_000);
    await limiter.unblock("ann");
    expect((await readBlocks(store)).blocks).toEqual([]);
  });

  test("is listed again when it is set again, which lasts longer", async () => {
    const { store, limiter } = await start();
    await limiter.block("ann", "1m", { reason });
    await sendUsage(store);
    await limiter.block("ann", "2h", { reason });
    await sendUsage(store);
    const { at, blocks } = await readBlocks(store);
    expect(blocks).toMatchObject([{ hash: hashSubject("ann"), reason }]);
    const [, ends] = await own.client.zrange(LIST, "0", "-1", "WITHSCORES");
    expect(Number(ends) * 1_000 - at).toBeGreaterThan(7_100_000);
  });

  test("has the reason of the operator whose longer block is in force", async () => {
    const { store, limiter, operator: admin, limits } = await start();
    await limiter.block("ann", "1m", { reason });
    await sendUsage(store);
    await admin.block(limits, "ann", "1h", { by: "joe", reason: "abuse" });
    expect((await readBlocks(store)).blocks).toMatchObject([{ by: "joe", reason: "abuse" }]);
    await limiter.block("ann", "2h", { reason });
    await sendUsage(store);
    const { blocks } = await readBlocks(store);
    expect(blocks).toMatchObject([{ reason }]);
    expect(blocks[0]).not.toHaveProperty("by");
  });

  test("is removed with its forgotten subject", async () => {
    const { store, limiter, operator: admin, limits } = await start();
    for (const subject of ["ann", "ann2"]) await limiter.block(subject, "1h", { reason });
    await sendUsage(store);
    expect(await admin.forget(limits, "ann")).toMatchObject({ clearedLists: 1 });
    const left = await own.client.zrange(LIST, "0", "-1");
    expect(left).toEqual(["login default hann2 api.github.com%20answered%20429"]);
  });

  test("rejects a reason that is no text of 1 to 200 characters", async () => {
    const { limiter } = await start();
    for (const wrong of ["", "x".repeat(201), 429, null]) {
      await expect(limiter.block("ann", "1h", { reason: wrong as string })).rejects.toMatchObject({
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringMatching(/^reason must be a text of 1 to 200 characters, got /),
      });
    }
  });
});

describe("the list of blocks", () => {
  let number = 0;
  async function add(blocks: readonly BlockEntry[], now: number): Promise<void> {
    number += 1;
    const store = requireStore(redisStore(own.client, { clock: () => now }));
    const process = "process-00000000";
    const call = { prefix: "hg", process, number, clock: now * 1_000, clockOffset: 0 };
    await store.run(addUsage, { ...call, limiters: [], blocks });
  }
  const NOW = 1_800_000_000;
  const block = (i: number, ends = NOW + 60) => [ends, `api default p${i}`] as const;

  test("has the 1,000 blocks that last longest, and drops expired ones", async () => {
    for (let from = 0; from < 1_010; from += 202) {
      const some = Array.from({ length: 202 }, (_, i) => block(from + i, NOW + 60 + from + i));
      await add(some, NOW * 1_000);
    }
    expect(await own.client.zcard(LIST)).toBe(1_000);
    expect(await own.client.zscore(LIST, "api default p9")).toBeNull();
    await start();
    const storeAt = (now: number) => redisStore(own.client, { clock: () => now * 1_000 });
    expect(await readBlocks(storeAt(NOW))).toMatchObject({
      isComplete: false,
      uncheckedCount: 1_000,
    });
    // An ended block is not counted, although it is still in the set: nothing that lasts longer was left out.
    const later = NOW + 60 + 510;
    expect(await readBlocks(storeAt(later))).toMatchObject({
      isComplete: true,
      uncheckedCount: 499,
    });
    // A block that lasts longer than it was known to is one.
    await add([block(500, NOW + 9_000), block(500, NOW + 8_000)], later * 1_000);
    expect(await own.client.zscore(LIST, "api default p500")).toBe(String(NOW + 9_000));
    expect(await own.client.zcard(LIST)).toBe(1_000);
    await add([block(2_000, NOW + 700)], later * 1_000);
    expect(await own.client.zscore(LIST, "api default p10")).toBeNull();
    expect(await own.client.pttl(LIST)).toBeGreaterThan(0);
  });

  test("is left alone if the key holds something else", async () => {
    await own.client.set(LIST, "text");
    await add([block(0)], NOW * 1_000);
    expect(await own.client.get(LIST)).toBe("text");
    const reason = "wrong-type";
    expect((await readBlocks(own.client)).unreadable).toEqual([{ key: LIST, reason }]);
    await own.client.del(LIST);
    await own.client.zadd(LIST, NOW, "x");
    expect((await readBlocks(own.client)).unreadable).toEqual([{ key: LIST, reason: "damaged" }]);
  });
});

test("a process sends a block once, again if it lasts longer or after ten minutes, and remembers at most 1,000", () => {
  const seen = new BlockSightings();
  const blocked = (i: number) =>
    ({ limiter: "api", dimension: "ip", subject: `${i}`, subjects: "hashed" }) as const;
  seen.record(blocked(1), 0, 5_000_000);
  seen.record(blocked(1), 1_000_000, 5_000_000);
  expect(seen.takeBatch(1_000_000, 2_000_000)).toEqual([[8, "api ip h1"]]);
  seen.record(blocked(1), 2_000_000, 4_000_000);
  expect(seen.size).toBe(0);
  seen.record(blocked(1), 2_000_000, 5_000_000);
  expect(seen.takeBatch(2_000_000, 0)).toEqual([[7, "api ip h1"]]);
  seen.record(blocked(1), 602_000_000, 5_000_000);
  expect(seen.takeBatch(602_000_000, 0)).toEqual([[607, "api ip h1"]]);
  for (let i = 0; i < 5_000; i += 1) seen.record(blocked(i), 0, Number.MAX_SAFE_INTEGER);
  expect(seen.size).toBe(1_000);
  const first = seen.takeBatch(0, 0);
  expect(first).toHaveLength(256);
  expect(first[0]?.[0]).toBe(31_622_400);
});
