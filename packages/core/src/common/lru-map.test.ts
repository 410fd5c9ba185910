import { fc, test } from "@fast-check/vitest";
import { LRUCache } from "lru-cache";
import { expect } from "vitest";
import { LruMap } from "./lru-map.ts";

const call = fc.tuple(fc.constantFrom("get", "get", "set", "set", "delete"), fc.nat(8));

test.prop([fc.array(call, { minLength: 20, maxLength: 100 }), fc.integer({ min: 1, max: 6 })])(
  "an LRU map has the entries of lru-cache, in the same order",
  (calls, max) => {
    const map = new LruMap<number, { key: number }>(max);
    const cache = new LRUCache<number, { key: number }>({ max });
    for (const [method, key] of calls) {
      const value = { key };
      if (method === "set") for (const one of [map, cache]) one.set(key, value);
      if (method === "get") expect(map.get(key)).toBe(cache.get(key));
      if (method === "delete") for (const one of [map, cache]) one.delete(key);
      expect([...map.values()]).toEqual([...cache.rvalues()]);
    }
  },
);
