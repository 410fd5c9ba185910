import { createBreaker } from "@headgate/breaker";
import type { LimiterOptions, Store } from "@headgate/core";
import { createLimiter, fixedWindow, gcra } from "@headgate/core";
import type { Admin } from "@headgate/core/admin";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { sendUsage } from "../../support/send-usage.ts";
import { writeRegistry } from "../../support/write-registry.ts";

/** Fills an empty Redis, on a path, with what a session finds there. Resolves with what ends it. */
export type Fixture = (path: string) => Promise<() => Promise<void>>;

/** What ends with a process. */
type Made = readonly { close(): Promise<void> }[];

/** By the name that a page gives in front of a session. */
export const FIXTURES: Readonly<Record<string, Fixture>> = {
  ...{ ailing, asked, complaint, deploy, empty, fleet, flood, shadowed, shop },
};

/** Nothing. */
async function empty(): Promise<() => Promise<void>> {
  return async () => {};
}

/** A shop: two limiters and a breaker in a process, of which another one has an older policy; calls by the breaker, a sale, and a client that was blocked. */
async function fleet(path: string): Promise<() => Promise<void>> {
  const orders = { name: "orders", limits: gcra({ limit: 100, window: "1m" }) };
  const endOld = await list(path, (store) => [
    createLimiter({ ...orders, limits: gcra({ limit: 80, window: "1m" }), store }),
  ]);
  const endNew = await list(path, async (store) => {
    const payments = createBreaker({ name: "payments", store, flushInterval: 0 });
    const calls = { "bank-eu": [8, 0], "bank-us": [9, 3] } as const;
    for (const [target, [successes, failures]] of Object.entries(calls)) {
      const bank = payments.for(target);
      for (let i = 0; i < successes; i += 1) await bank.record("success");
      for (let i = 0; i < failures; i += 1) await bank.record("failure");
    }
    return [
      createLimiter({ ...orders, store }),
      createLimiter({
        name: "login",
        limits: fixedWindow({ limit: 5, window: "15m", per: "account", block: "1h" }),
        store,
      }),
      payments,
    ];
  });
  const client = new Redis(path);
  const admin = createAdmin(redisStore(client));
  const by = "ann";
  await admin.block(orders, "203.0.113.7", "1h", { by, reason: "flood" });
  const sale = { limiter: "orders", limits: { "100-per-1m": { limit: 500 } } };
  await admin.setOverride(sale, { for: "2h", by, reason: "the sale" });
  client.disconnect();
  return async () => {
    await endOld();
    await endNew();
  };
}

/** A shop on a server that gives up whatever it likes when memory is full. */
async function ailing(path: string): Promise<() => Promise<void>> {
  const end = await shop(path);
  const client = new Redis(path);
  await client.config("SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru");
  // A busy machine has slow commands of its own.
  await client.config("SET", "slowlog-log-slower-than", "10000000");
  await client.slowlog("RESET");
  client.disconnect();
  return end;
}

/** What was used of a fixed window stays the same within it, however slow a run is. */
const ORDERS = { name: "orders", limits: fixedWindow({ limit: 100, window: "1m" }) };

/** A limiter that nobody has asked. */
function shop(path: string): Promise<() => Promise<void>> {
  return list(path, (store) => [createLimiter({ ...ORDERS, store })]);
}

/** One client asks more than all others. */
async function flood(path: string): Promise<() => Promise<void>> {
  const counts = { "203.0.113.7": 130, "198.51.100.4": 12, "198.51.100.9": 5 };
  return ask(path, ORDERS, counts);
}

/** The limiter is in shadow, because somebody forgot it. */
async function shadowed(path: string): Promise<() => Promise<void>> {
  const end = await shop(path);
  await operateOn(path, (admin) =>
    admin.setOverride(
      { limiter: "orders", shadow: true },
      { for: "forever", by: "bob", reason: "a try" },
    ),
  );
  return end;
}

/** One process has what was deployed with a zero too few, and one the policy of before. */
async function deploy(path: string): Promise<() => Promise<void>> {
  const endOld = await shop(path);
  const limits = fixedWindow({ limit: 10, window: "1m" });
  const endNew = await list(path, (store) => [createLimiter({ ...ORDERS, limits, store })]);
  return async () => {
    await endOld();
    await endNew();
  };
}

/** A customer who was taken for another. */
async function complaint(path: string): Promise<() => Promise<void>> {
  const customer = "198.51.100.4";
  const end = await ask(path, ORDERS, { [customer]: 12 });
  const why = { by: "bob", reason: "taken for another" };
  await operateOn(path, (admin) => admin.block(ORDERS, customer, "1d", why));
  return end;
}

/** Two limiters that somebody has asked. */
async function asked(path: string): Promise<() => Promise<void>> {
  const limits = fixedWindow({ limit: 3, window: "1h" });
  const ends = [
    await ask(path, { name: "api", limits }, { eve: 2 }),
    await ask(path, { name: "search", limits }, { eve: 1 }),
  ];
  return async () => {
    for (const end of ends) await end();
  };
}

/** A limiter in a process that subjects have asked so often, and that keeps usage. */
function ask(
  path: string,
  limiter: Pick<LimiterOptions, "name" | "limits">,
  counts: Readonly<Record<string, number>>,
): Promise<() => Promise<void>> {
  return list(path, async (store) => {
    const made = createLimiter({ ...limiter, store, storeTimeout: "10s" });
    for (const [subject, times] of Object.entries(counts)) {
      for (let i = 0; i < times; i += 1) await made.consume(subject);
    }
    await sendUsage(store);
    return [made];
  });
}

async function operateOn(path: string, act: (admin: Admin) => Promise<unknown>) {
  const client = new Redis(path);
  await act(createAdmin(redisStore(client)));
  client.disconnect();
}

/** Lists what one client of a process has in the registry. */
async function list(
  path: string,
  make: (store: Store) => Made | Promise<Made>,
): Promise<() => Promise<void>> {
  const client = new Redis(path);
  const store = redisStore(client, { usage: { subjects: "plain" } });
  const made = await make(store);
  await writeRegistry(store);
  return async () => {
    for (const one of made) await one.close();
    client.disconnect();
  };
}
