import { createBreaker } from "@headgate/breaker";
import type { LimiterOptions, Store } from "@headgate/core";
import { createLimiter, fixedWindow, gcra } from "@headgate/core";
import type { Admin } from "@headgate/core/admin";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { sendUsage } from "../../support/send-usage.ts";
import { writeRegistry } from "../../support/write-registry.ts";

/** Fills the empty Redis at a path with the data of a session. Resolves with a function that closes the fixture. */
export type Fixture = (path: string) => Promise<() => Promise<void>>;

/** The limiters and breakers of a process. */
type Closables = readonly { close(): Promise<void> }[];

/** The fixtures by name; a page names one in a comment before each session. */
export const FIXTURES: Readonly<Record<string, Fixture>> = {
  ...{ misconfigured, limiters, complaint, deploy, empty, fleet, flood, shadowed, shop },
};

/** Leaves Redis empty. */
async function empty(): Promise<() => Promise<void>> {
  return async () => {};
}

/** A fleet of two processes: one has two limiters and a breaker with calls, the other an older policy; with an override and a block. */
async function fleet(path: string): Promise<() => Promise<void>> {
  const orders = { name: "orders", limits: gcra({ limit: 100, window: "1m" }) };
  const endOld = await register(path, (store) => [
    createLimiter({ ...orders, limits: gcra({ limit: 80, window: "1m" }), store }),
  ]);
  const endNew = await register(path, async (store) => {
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

/** A server that evicts any key when its memory is full. */
async function misconfigured(path: string): Promise<() => Promise<void>> {
  const end = await shop(path);
  const client = new Redis(path);
  await client.config("SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru");
  // A busy machine would add slow commands of its own.
  await client.config("SET", "slowlog-log-slower-than", "10000000");
  await client.slowlog("RESET");
  client.disconnect();
  return end;
}

/** A fixed window keeps its used units until it ends, so the output does not depend on the speed of a run. */
const ORDERS = { name: "orders", limits: fixedWindow({ limit: 100, window: "1m" }) };

/** A limiter without calls. */
function shop(path: string): Promise<() => Promise<void>> {
  return register(path, (store) => [createLimiter({ ...ORDERS, store })]);
}

/** One client sends more requests than all others. */
async function flood(path: string): Promise<() => Promise<void>> {
  const counts = { "203.0.113.7": 130, "198.51.100.4": 12, "198.51.100.9": 5 };
  return consumeAll(path, ORDERS, counts);
}

/** A limiter that was left in shadow mode. */
async function shadowed(path: string): Promise<() => Promise<void>> {
  const end = await shop(path);
  await runAdmin(path, (admin) =>
    admin.setOverride(
      { limiter: "orders", shadow: true },
      { for: "forever", by: "bob", reason: "a try" },
    ),
  );
  return end;
}

/** One process has a new policy whose limit lacks a zero, and the other still the old policy. */
async function deploy(path: string): Promise<() => Promise<void>> {
  const endOld = await shop(path);
  const limits = fixedWindow({ limit: 10, window: "1m" });
  const endNew = await register(path, (store) => [createLimiter({ ...ORDERS, limits, store })]);
  return async () => {
    await endOld();
    await endNew();
  };
}

/** A customer who was blocked by mistake. */
async function complaint(path: string): Promise<() => Promise<void>> {
  const customer = "198.51.100.4";
  const end = await consumeAll(path, ORDERS, { [customer]: 12 });
  const why = { by: "bob", reason: "taken for another" };
  await runAdmin(path, (admin) => admin.block(ORDERS, customer, "1d", why));
  return end;
}

/** Two limiters with calls of one subject. */
async function limiters(path: string): Promise<() => Promise<void>> {
  const limits = fixedWindow({ limit: 3, window: "1h" });
  const ends = [
    await consumeAll(path, { name: "api", limits }, { eve: 2 }),
    await consumeAll(path, { name: "search", limits }, { eve: 1 }),
  ];
  return async () => {
    for (const end of ends) await end();
  };
}

/** Registers a limiter, makes as many calls of each subject as `counts` says, and sends their usage. */
function consumeAll(
  path: string,
  limiter: Pick<LimiterOptions, "name" | "limits">,
  counts: Readonly<Record<string, number>>,
): Promise<() => Promise<void>> {
  return register(path, async (store) => {
    const created = createLimiter({ ...limiter, store, storeTimeout: "10s" });
    for (const [subject, times] of Object.entries(counts)) {
      for (let i = 0; i < times; i += 1) await created.consume(subject);
    }
    await sendUsage(store);
    return [created];
  });
}

async function runAdmin(path: string, action: (admin: Admin) => Promise<unknown>) {
  const client = new Redis(path);
  await action(createAdmin(redisStore(client)));
  client.disconnect();
}

/** Creates limiters and breakers on a client of their own, and writes them to the registry. */
async function register(
  path: string,
  make: (store: Store) => Closables | Promise<Closables>,
): Promise<() => Promise<void>> {
  const client = new Redis(path);
  const store = redisStore(client, { usage: { subjects: "plain" } });
  const closables = await make(store);
  await writeRegistry(store);
  return async () => {
    for (const one of closables) await one.close();
    client.disconnect();
  };
}
