import { createBreaker } from "@headgate/breaker";
import type { Limit, LimiterOptions, Store } from "@headgate/core";
import {
  concurrency,
  createLimiter,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
} from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { addUsage } from "../../packages/core/src/usage/operations.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { STORE_ALONE } from "./store-alone.ts";

/*
 * A script that fails is not undone. Wherever a server refuses one of its commands, the keys that it has written by then
 * expire.
 */

const own = useOwnRedis();

const USER = "lacking";

/** Every command on keys that a script uses. */
const COMMANDS = [
  "get",
  "set",
  "del",
  "strlen",
  "getrange",
  "setrange",
  "pexpire",
  "lpush",
  "ltrim",
  "lrange",
  "hmget",
  "hgetall",
  "hset",
  "hlen",
  "zadd",
  "zcard",
  "zmscore",
  "zrange",
  "zrem",
  "zremrangebyrank",
  "zremrangebyscore",
] as const;

const BLOCKING = fixedWindow({ limit: 1, window: "1h", block: "1h" });
const BANNING = fixedWindow({ limit: 1, window: "1h", block: { after: 2, for: "1h" } });
const api = { name: "api", limits: gcra({ limit: 5, window: "1h" }) };

const OPENED = {
  breaker: "upstream",
  target: "eu",
  before: { state: "closed" },
  after: { state: "open" },
} as const;

/** What is done while no command is refused; what it returns is done when one is. */
type Operation = (store: Store) => Promise<() => Promise<unknown>>;

const POLICIES: Record<string, Limit | readonly Limit[]> = {
  gcra: gcra({ limit: 5, window: "1h" }),
  slidingLog: slidingLog({ limit: 5, window: "1h" }),
  concurrency: concurrency({ limit: 2, ttl: "1h" }),
  "all together": [
    fixedWindow({ limit: 5, window: "day", name: "calendar" }),
    slidingWindow({ limit: 5, window: "1h", buckets: 6, name: "buckets" }),
    slidingLog({ limit: 5, window: "1h", name: "log" }),
    concurrency({ limit: 2, ttl: "1h", name: "places" }),
  ],
};

const OPERATIONS: Record<string, Operation> = {
  ...Object.fromEntries(
    Object.entries(POLICIES).flatMap(([name, limits]): [string, Operation][] => [
      [
        `${name}, first`,
        async (store) => {
          const limiter = limiterOn(store, { limits });
          return () => limiter.consume("u");
        },
      ],
      [
        `${name}, at once`,
        async (store) => {
          const limiter = limiterOn(store, { limits });
          return () => Promise.all(Array.from({ length: 8 }, () => limiter.consume("u")));
        },
      ],
      [
        `${name}, again`,
        async (store) => {
          const limiter = limiterOn(store, { limits });
          await limiter.consume("u");
          return () => limiter.consume("u");
        },
      ],
      [
        `${name}, given back`,
        async (store) => {
          const limiter = limiterOn(store, { limits });
          const decision = await limiter.consume("u");
          return async () => {
            if (name === "concurrency") await limiter.release(decision);
            else await limiter.refund(decision);
          };
        },
      ],
      [
        `${name}, blocked`,
        async (store) => {
          const limiter = limiterOn(store, { limits });
          return () => limiter.block("u", "1h");
        },
      ],
    ]),
  ),
  "a reset": async (store) => {
    const limiter = limiterOn(store, { limits: slidingLog({ limit: 5, window: "1h" }) });
    await limiter.consume("u");
    return () => limiter.reset("u");
  },
  charge: async (store) => {
    const limiter = limiterOn(store, { limits: slidingLog({ limit: 5, window: "1h" }) });
    return () => limiter.charge("u", { cost: 3 });
  },
  settle: async (store) => {
    const limiter = limiterOn(store, { limits: BLOCKING, blockOn: "settle" });
    const decision = await limiter.consume("u");
    return () => limiter.settle(decision, 1);
  },
  "a block": async (store) => {
    const limiter = limiterOn(store, { limits: BLOCKING });
    await limiter.consume("u");
    return () => limiter.consume("u");
  },
  "a counted denial": async (store) => {
    const limiter = limiterOn(store, { limits: BANNING });
    await limiter.consume("u");
    return () => limiter.consume("u");
  },
  "a reset below a block by hand": async (store) => {
    const limiter = limiterOn(store, api);
    await limiter.consume("u");
    await limiter.block("u", "1h");
    return () => limiter.reset("u");
  },
  "the end of a block": async (store) => {
    const limiter = limiterOn(store, api);
    await limiter.block("u", "1h");
    return () => limiter.unblock("u");
  },
  "a lease": async (store) => {
    const lease = { max: 4, ttl: "10s" } as const;
    const limiter = limiterOn(store, { limits: gcra({ limit: 50, window: "1h" }), lease });
    return () => Promise.all(Array.from({ length: 8 }, () => limiter.consume("u")));
  },
  "a registry": async (store) => {
    limiterOn(store, api);
    return () => writeRegistry(store);
  },
  "a registry, again": async (store) => {
    limiterOn(store, api);
    await writeRegistry(store);
    return () => writeRegistry(store);
  },
  usage: async (store) => () => countUsage(store, 1),
  "usage, again": async (store) => {
    await countUsage(store, 1);
    return () => countUsage(store, 2);
  },
  "an operator's block": async (store) => () => createAdmin(store).block(api, "u", "1h"),
  "an operator's second block": async (store) => {
    await createAdmin(store).block(api, "u", "1h");
    return () => createAdmin(store).block(api, "v", "1h");
  },
  "an override": async (store) => () =>
    createAdmin(store).setOverride({ limiter: "api", shadow: true }, { for: "1h" }),
  "an entry in the log": async (store) => () => createAdmin(store).logBreakerAction(OPENED),
  "a subject that an operator forgets": async (store) => {
    await createAdmin(store).block(api, "u", "1h");
    return () => createAdmin(store).forget(api, "u");
  },
  "a breaker": async (store) => {
    const breaker = createBreaker({ name: "upstream", store, storeTimeout: "1m" });
    onTestFinished(() => breaker.close());
    return async () => {
      await breaker.record("failure");
      await breaker.snapshot();
    };
  },
  "a breaker that is disabled": async (store) => {
    const breaker = createBreaker({ name: "upstream", store, storeTimeout: "1m" });
    onTestFinished(() => breaker.close());
    await breaker.record("success");
    return () => breaker.disable();
  },
};

function limiterOn(store: Store, options: Partial<LimiterOptions>) {
  const limiter = createLimiter({
    ...STORE_ALONE,
    name: "api",
    store,
    onUnavailable: "allow",
    ...options,
  } as LimiterOptions);
  onTestFinished(() => limiter.close().catch(() => {}));
  return limiter;
}

async function countUsage(given: Store, number: number): Promise<unknown> {
  const store = requireStore(given);
  const at = store.now();
  const row = { at, allowed: 2, denied: 1, degraded: 1 };
  const list = [0, 2, "default u", 2, 1];
  const subjects = { used: list, denied: list, denials: { "default a": 1 } };
  const limiters = [
    { name: "api", rows: [row], subjects },
    { name: "", rows: [row] },
  ];
  return store.run(addUsage, {
    prefix: store.prefix,
    process: "process-00000001",
    number,
    clock: at,
    clockOffset: 0,
    blocks: [[Math.ceil(at / 1_000_000) + 3_600, "api default pu"]],
    limiters,
  });
}

/** Gives the user all permissions but one. */
function permit(refused?: string): Promise<unknown> {
  const permissions = ["+@all", ...(refused === undefined ? [] : [`-${refused}`])];
  return own.client.call(
    "ACL",
    "SETUSER",
    USER,
    "reset",
    "on",
    "nopass",
    "~*",
    "&*",
    ...permissions,
  );
}

async function keysThatStay(): Promise<string[]> {
  const keys = (await own.scan()).map((key) => key.toString());
  const left = await Promise.all(keys.map((key) => own.client.pttl(key)));
  return keys.filter((_, i) => left[i] === -1);
}

describe.each(Object.entries(OPERATIONS))("%s", (_, operation) => {
  test("no key stays without an expiry, whichever command is refused", async () => {
    const staying: Record<string, string[]> = {};
    let refusals = 0;
    for (const command of COMMANDS) {
      await own.client.flushall();
      await permit();
      // A server that refused a command counts as down for a while, so each operation has a client of its own.
      const client = new Redis(own.server.socket, { username: USER, password: "any" });
      onTestFinished(() => client.disconnect());
      const act = await operation(requireStore(redisStore(client)));
      expect(await keysThatStay()).toEqual([]);
      await permit(command);
      await hasRefused();
      await act().catch(() => {});
      if (await hasRefused()) refusals += 1;
      const left = await keysThatStay();
      if (left.length > 0) staying[command] = left;
    }
    expect(staying).toEqual({});
    expect(refusals).toBeGreaterThan(0);
  });
});

/** Whether the server has refused a command for lack of a permission since the last call of this function. */
async function hasRefused(): Promise<boolean> {
  const refused = (await own.client.call("ACL", "LOG")) as unknown[];
  await own.client.call("ACL", "LOG", "RESET");
  return refused.length > 0;
}
