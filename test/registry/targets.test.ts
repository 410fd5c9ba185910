import type { Breaker } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import type { Store } from "@headgate/core";
import { readRegistry } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { writeRegistry } from "../support/write-registry.ts";

const own = useOwnRedis();

/** A breaker as one process has it: each client writes a record of its own. */
function start(name = "payments"): { store: Store; breaker: Breaker } {
  const client = new Redis(own.server.socket);
  const store = redisStore(client);
  const breaker = createBreaker({ name, store, storeTimeout: "10s", flushInterval: 0 });
  onTestFinished(async () => {
    await breaker.close();
    client.disconnect();
  });
  return { store, breaker };
}

async function call({ store, breaker }: ReturnType<typeof start>, ...targets: readonly string[]) {
  await Promise.all(targets.map((target) => breaker.for(target).record("success")));
  await writeRegistry(store);
}

async function listed() {
  const { breakers, unreadable } = await readRegistry(own.client);
  expect(unreadable).toEqual([]);
  return breakers.map(({ name, targets, moreTargets }) => ({ name, targets, moreTargets }));
}

/** Rewrites the records of all processes. */
async function rewrite(change: (record: Record<string, unknown>) => unknown): Promise<void> {
  for (const key of await own.client.keys("hg:{registry}:process/*")) {
    const record = JSON.parse((await own.client.get(key)) ?? "");
    await own.client.set(key, JSON.stringify(change(record)), "PX", 60_000);
  }
}

function targetsNamed(count: number, letter: string): string[] {
  return Array.from({ length: count }, (_, i) => letter + String(i).padStart(3, "0"));
}

test("the targets of all processes are listed together, and a new one with the next write", async () => {
  const [one, other] = [start(), start()];
  await call(one, "bank-eu", "bank-us");
  await call(other, "bank-us", "bank-asia");
  const known = { name: "payments", moreTargets: undefined };
  expect(await listed()).toEqual([{ ...known, targets: ["bank-asia", "bank-eu", "bank-us"] }]);
  await call(one, "new");
  expect(await listed()).toEqual([
    { ...known, targets: ["bank-asia", "bank-eu", "bank-us", "new"] },
  ]);
  await one.breaker.close();
  expect(await listed()).toEqual([{ ...known, targets: ["bank-asia", "bank-us"] }]);
});

test("targets belong to their own breaker, and an unused breaker has none", async () => {
  const [one, other, idle] = [start("a"), start("b"), start("c")];
  await call(one, "x");
  await call(other, "y");
  await call(idle);
  expect((await listed()).map(({ targets }) => targets)).toEqual([["x"], ["y"], []]);
});

test("a breaker used without targets has the target default after its first call", async () => {
  const one = start();
  await one.breaker.run(() => "");
  await call(one);
  expect(await listed()).toMatchObject([{ targets: ["default"] }]);
});

test("beyond 200 targets are only counted, in a process and in all together", async () => {
  const [one, other] = [start(), start()];
  await call(one, ...targetsNamed(201, "a"));
  const [first] = await listed();
  expect(first?.targets).toHaveLength(200);
  expect(first?.moreTargets).toBe(1);
  await call(other, ...targetsNamed(50, "b"));
  const [both] = await listed();
  expect(both?.targets?.every((name) => name.startsWith("a"))).toBe(true);
  expect(both).toMatchObject({ targets: { length: 200 }, moreTargets: 50 });
});

test("a target with a name of one megabyte is counted without writing its name", async () => {
  const one = start();
  await call(one, "short", "x".repeat(2 ** 20));
  expect(await listed()).toMatchObject([{ targets: ["short"], moreTargets: 1 }]);
  const [key = ""] = await own.client.keys("hg:{registry}:process/*");
  expect(await own.client.strlen(key)).toBeLessThan(1_000);
});

test("targets are unknown if no process reports them, and partial if one does not", async () => {
  const one = start();
  await call(one, "bank");
  await rewrite(({ targets: _, ...record }) => record);
  const [breaker] = (await readRegistry(own.client)).breakers;
  expect(breaker).toMatchObject({ name: "payments" });
  expect(breaker).not.toHaveProperty("targets");
  await call(start(), "newer");
  expect(await listed()).toMatchObject([{ targets: ["newer"] }]);
});

test("foreign values in place of targets do no harm", async () => {
  const one = start();
  await call(one, "bank");
  const foreign = { record: "__proto__", names: ["x"], more: 1 };
  await rewrite((record) => ({
    ...record,
    targets: [...(record["targets"] as object[]), foreign],
    records: [...(record["records"] as string[]), "constructor"],
  }));
  const found = await readRegistry(own.client);
  expect(found.breakers).toMatchObject([{ targets: ["bank"] }]);
  expect(found.unreadable).toMatchObject([{ reason: "missing" }]);
  await rewrite((record) => ({ ...record, targets: [{ ...foreign, names: ["x".repeat(101)] }] }));
  expect(await readRegistry(own.client)).toMatchObject({
    breakers: [],
    unreadable: [{ reason: "damaged" }],
  });
});
