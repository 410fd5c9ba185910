import { createBreaker } from "@headgate/breaker";
import type { Store } from "@headgate/core";
import { createLimiter, fixedWindow, gcra } from "@headgate/core";
import { operate } from "@headgate/core/operate";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { writeDirectory } from "../../support/write-directory.ts";

/** Fills an empty Redis, on a path, with what a session finds there. Resolves with what ends it. */
export type Fixture = (path: string) => Promise<() => Promise<void>>;

/** By the name that a page gives in front of a session. */
export const FIXTURES: Readonly<Record<string, Fixture>> = { ailing, empty, fleet };

/** Nothing. */
async function empty(): Promise<() => Promise<void>> {
  return async () => {};
}

/** A shop: two limiters and a breaker in a process, of which another one has an older policy; a sale, and a client that was blocked. */
async function fleet(path: string): Promise<() => Promise<void>> {
  const orders = { name: "orders", limits: gcra({ limit: 100, window: "1m" }) };
  const endOld = await list(path, (store) => [
    createLimiter({ ...orders, limits: gcra({ limit: 80, window: "1m" }), store }),
  ]);
  const endNew = await list(path, (store) => [
    createLimiter({ ...orders, store }),
    createLimiter({
      name: "login",
      limits: fixedWindow({ limit: 5, window: "15m", per: "account", block: "1h" }),
      store,
    }),
    createBreaker({ name: "payments", store }),
  ]);
  const client = new Redis(path);
  const operator = operate(redisStore(client));
  const by = "ann";
  await operator.block(orders, "203.0.113.7", "1h", { by, reason: "flood" });
  const sale = { limiter: "orders", limits: { "100-per-1m": { limit: 500 } } };
  await operator.setOverride(sale, { for: "2h", by, reason: "the sale" });
  client.disconnect();
  return async () => {
    await endOld();
    await endNew();
  };
}

/** The same shop, on a server that gives up whatever it likes when memory is full, with a limiter that somebody left in shadow. */
async function ailing(path: string): Promise<() => Promise<void>> {
  const end = await fleet(path);
  const client = new Redis(path);
  await client.config("SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru");
  // A busy machine has slow commands of its own.
  await client.config("SET", "slowlog-log-slower-than", "10000000");
  await client.slowlog("RESET");
  const shadow = { limiter: "login", shadow: true };
  await operate(redisStore(client)).setOverride(shadow, { for: "forever", by: "ann" });
  client.disconnect();
  return end;
}

/** Lists what one client of a process has in the directory. */
async function list(
  path: string,
  make: (store: Store) => readonly { close(): Promise<void> }[],
): Promise<() => Promise<void>> {
  const client = new Redis(path);
  const store = redisStore(client);
  const made = make(store);
  await writeDirectory(store);
  return async () => {
    for (const one of made) await one.close();
    client.disconnect();
  };
}
