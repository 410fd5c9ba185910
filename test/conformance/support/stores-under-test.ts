import type { Clock, Store } from "@headgate/core";
import { memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe } from "vitest";
import { useOwnDatabase } from "../../support/own-database.ts";
import { historiesOf, runHistories } from "../random/histories.ts";
import type { Random } from "../random/random.ts";

/** A kind of store that the suites test. */
export interface StoreUnderTest {
  /** An empty store on a clock. */
  open(clock: Clock): Store;
  /**
   * Whether a denial, a peek or a refund without effect fixes how much has drained, under the limits of that call. The memory
   * store does; on Redis the next write decides how much has drained since the last one.
   */
  readonly drainsOnRead: boolean;
  /** The stored value of each counter by dimension, if a denial may write it to prolong its life. */
  valuesIn(store: Store): Promise<ReadonlyMap<string, string>>;
  /** Runs about `count` histories, and fifty times as many in the long run. Redis runs fewer histories, several at once. */
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
        // All keys exist as soon as one does.
        if (known.length > 0) keys.set(prefix, known);
        const counters = known.filter((key) => !key.includes(":log"));
        const values = await Promise.all(counters.map((key) => redis.getBuffer(key)));
        return new Map(
          counters.map((key, i) => [key.split(":").at(-2) ?? "", `${values[i]?.toString("hex")}`]),
        );
      },
      // Each history waits for its own replies only, so the server gets requests in batches.
      run: (count, history) =>
        runHistories(historiesOf(Math.ceil(count / 6), 12 * count), history, 64),
    });
  });
}
