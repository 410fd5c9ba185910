import { beforeEach, describe, expect, test } from "vitest";
import { SnapshotCache } from "./snapshot-cache.ts";

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
