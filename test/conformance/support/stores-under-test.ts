import type { Clock, Store } from "@headgate/core";
import { memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe } from "vitest";
import { useOwnDatabase } from "../../support/own-database.ts";
import { historiesOf, runHistories } from "../random/histories.ts";
import type { Random } from "../random/random.ts";

/** A kind of store on which laws are tried. */
export interface StoreUnderTest {
  /** An empty store on a clock. */
  open(clock: Clock): Store;
  /**
   * Whether what drained until a denial, a look or a refund in vain stays drained at the numbers of that moment: in this process,
   * where one set of numbers is in force at a time. Redis keeps nothing of them, and who writes next says how all of it drained.
   */
  readonly drainsOnRead: boolean;
  /** What a store keeps for each counter, by dimension, where a denial may write it so that it is kept for longer. */
  valuesIn(store: Store): Promise<ReadonlyMap<string, string>>;
  /** Runs about `count` histories on random numbers of their own, and fifty times as many in the long run; fewer on Redis, several at once. */
  run(count: number, history: (random: Random) => Promise<void>): Promise<void>;
}

/** Declares the same tests on memory and on Redis. */
export function describeStores(declare: (tested: StoreUnderTest) => void): void {
  describe("in memory", () => {
    declare({
      open: (clock) => memoryStore({ clock }),
      drainsOnRead: true,
      valuesIn: async () => new Map(),
      run: (count, history) => runHistories(historiesOf(count, 50 * count), history),
    });
  });
  describeRedisStore(declare);
}

/** Declares tests on Redis. */
export function describeRedisStore(declare: (tested: StoreUnderTest) => void): void {
  describe("on Redis", () => {
    const redis = useOwnDatabase();
    let opened = 0;
    const keys = new Map<string, readonly string[]>();
    declare({
      open: (clock) => redisStore(redis, { clock, prefix: `world-${++opened}` }),
      drainsOnRead: false,
      async valuesIn({ prefix }) {
        const known = keys.get(prefix) ?? (await redis.keys(`${prefix}:*`));
        // All of them are there as soon as one is.
        if (known.length > 0) keys.set(prefix, known);
        const counters = known.filter((key) => !key.includes(":log"));
        const values = await Promise.all(counters.map((key) => redis.getBuffer(key)));
        return new Map(
          counters.map((key, i) => [key.split(":").at(-2) ?? "", `${values[i]?.toString("hex")}`]),
        );
      },
      // Each history waits for its own replies only, so that the server gets its requests in batches.
      run: (count, history) =>
        runHistories(historiesOf(Math.ceil(count / 6), 12 * count), history, 64),
    });
  });
}
