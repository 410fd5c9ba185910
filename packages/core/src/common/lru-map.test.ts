import { fc, test } from "@fast-check/vitest";
import { LRUCache } from "lru-cache";
import { expect } from "vitest";
import { LruMap } from "./lru-map.ts";

const call = fc.tuple(fc.constantFrom("get", "get", "set", "set", "delete"), fc.nat(8));

test.prop([fc.array(call, { maxLength: 100 }), fc.integer({ min: 1, max: 6 })])(
  "an LRU map has the entries of lru-cache",
  (calls, max) => {
    const map = new LruMap<number, object>(max);
    const cache = new LRUCache<number, object>({ max });
    for (const [method, key] of calls) {
      const value = {};
      if (method === "set") for (const one of [map, cache]) one.set(key, value);
      if (method === "get") expect(map.get(key)).toBe(cache.get(key));
      if (method === "delete") for (const one of [map, cache]) one.delete(key);
    }
    for (let key = 0; key <= 8; key += 1) expect(map.get(key)).toBe(cache.get(key));
  },
);
