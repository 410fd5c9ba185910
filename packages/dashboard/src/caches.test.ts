import { beforeEach, describe, expect, test } from "vitest";
import type { Visibility } from "./caches.ts";
import { ResultCache, SnapshotCache } from "./caches.ts";

describe("data from Redis", () => {
  let now: number;
  let cache: SnapshotCache;
  let reads: number;

  beforeEach(() => {
    now = 0;
    reads = 0;
    cache = new SnapshotCache(() => now);
  });

  const read = async (): Promise<number> => {
    reads += 1;
    return reads;
  };

  test("is read again two seconds after its read began", async () => {
    expect(await cache.get("log", read)).toBe(1);
    now = 1_999;
    expect(await cache.get("log", read)).toBe(1);
    now = 2_000;
    expect(await cache.get("log", read)).toBe(2);
  });

  test("is read once while a read is in progress, however long that takes", async () => {
    const slow = cache.get("log", read);
    now = 60_000;
    const joined = cache.get("log", read);
    expect([await slow, await joined]).toEqual([1, 1]);
    expect(await cache.get("log", read)).toBe(2);
  });

  test("is read again ten seconds after a failure at the latest, however long a success is kept", async () => {
    const fail = (): Promise<never> => Promise.reject(new Error("away"));
    await expect(cache.get("log", fail, 60_000)).rejects.toThrow("away");
    now = 9_999;
    await expect(cache.get("log", read, 60_000)).rejects.toThrow("away");
    now = 10_000;
    expect(await cache.get("log", read, 60_000)).toBe(1);
    now = 69_999;
    expect(await cache.get("log", read, 60_000)).toBe(1);
  });

  test("is read again after an action", async () => {
    await cache.get("log", read);
    cache.clear();
    expect(await cache.get("log", read)).toBe(2);
  });

  test("is kept for the 200 keys that were read last", async () => {
    for (let i = 0; i <= 200; i += 1) await cache.get(`key ${i}`, read);
    await cache.get("key 1", read);
    expect(reads).toBe(201);
    await cache.get("key 0", read);
    expect(reads).toBe(202);
  });
});

const NAMES = ["api", "login", "search"];

describe("a result for visitors of some limiters", () => {
  let now: number;
  let cache: ResultCache;
  let made: number;

  beforeEach(() => {
    now = 1_000;
    made = 0;
    cache = new ResultCache(() => now);
  });

  /** Requests the visible names, and asks about each of them while the data is loaded. */
  function request(
    visible: readonly string[],
    names: readonly string[] = NAMES,
  ): Promise<readonly string[]> {
    const answers = new Map<string, boolean>();
    const visibility: Visibility = { canSee: (name) => visible.includes(name), answers };
    const load = async (): Promise<readonly string[]> => {
      await Promise.resolve();
      for (const name of names) answers.set(name, visible.includes(name));
      return names.filter((name) => visible.includes(name));
    };
    return cache.get("names", visibility, load, (seen) => {
      made += 1;
      return [...seen];
    });
  }

  test("is shared by those who may see the same names, also at the same time", async () => {
    const first = await Promise.all([request(["api"]), request(["api"])]);
    expect(await request(["api", "not in the data"])).toEqual(["api"]);
    expect([first, made]).toEqual([[["api"], ["api"]], 1]);
  });

  test("is not shared by those who may see more, less or other names", async () => {
    for (const visible of [["api", "login"], ["api"], ["login"], [], NAMES]) {
      expect(await request(visible)).toEqual(visible);
    }
    expect(made).toBe(5);
  });

  test("is made again after two seconds, and after an action", async () => {
    await request(["api"]);
    now += 1_999;
    await request(["api"]);
    expect(made).toBe(1);
    now += 1;
    await request(["api"]);
    expect(made).toBe(2);
    cache.clear();
    await request(["api"]);
    expect(made).toBe(3);
  });

  test("is not shared if an action came while its data was loaded", async () => {
    const slow = request(["api"]);
    cache.clear();
    await slow;
    expect(made).toBe(1);
    await request(["api"]);
    expect(made).toBe(2);
  });

  test("is kept for the last 20 groups of visitors", async () => {
    const names = Array.from({ length: 21 }, (_, i) => `limiter-${i}`);
    for (const name of names) await request([name], names);
    expect(made).toBe(21);
    for (const name of names.slice(1)) await request([name], names);
    expect(made).toBe(21);
    await request(["limiter-0"], names);
    expect(made).toBe(22);
  });
});
