import type { Store } from "@headgate/core";
import { createLimiter, fixedWindow, gcra } from "@headgate/core";
import { createAdmin, overrideCoverageOf, readBlocks, readRegistry } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { expect, onTestFinished, test } from "vitest";
import { uniquePrefix } from "../http/support/redis-client.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { writeRegistry } from "../support/write-registry.ts";

/* Limits of other shapes than a limiter's own, as operators see and change them. */

const redis = useOwnDatabase();

const hourly = gcra({ limit: 5, window: "1h" });
const daily = (limit: number) => fixedWindow({ limit, window: "1d" });

function open(more: object = {}) {
  const store = redisStore(redis, { prefix: uniquePrefix() });
  const options = { name: "api", limits: hourly, store, storeTimeout: "10s", denyCache: false };
  const limiter = createLimiter({ ...options, ...more } as never);
  onTestFinished(() => limiter.close());
  return { store, limiter };
}

async function listed(store: Store) {
  await writeRegistry(store);
  const registry = await readRegistry(store);
  expect(registry.unreadable).toEqual([]);
  return registry;
}

test("per-call policies in use are listed with the limiter, with the endings of their keys", async () => {
  const { store, limiter } = open();
  await limiter.consume("ada", { limits: daily(9) });
  await limiter.consume("ada", { limits: daily(20) });
  const { limiters } = await listed(store);
  const shape = { per: "default", fingerprint: expect.any(String), limits: ["9-per-1d"] };
  expect(limiters).toMatchObject([
    {
      name: "api",
      limits: [hourly],
      hasOtherVersions: false,
      perCallPolicies: [{ limits: [daily(9)], shapes: [shape] }],
    },
  ]);
  const [key] = await redis.keys(`${store.prefix}:{ada}:*`);
  expect(key?.endsWith(`:${limiters[0]?.perCallPolicies?.[0]?.shapes[0]?.fingerprint}`)).toBe(true);
});

test("per-call policies without room in the record are counted", async () => {
  const { store, limiter } = open();
  for (let i = 1; i <= 64; i += 1) {
    const limits = Array.from({ length: 8 }, (_, j) =>
      fixedWindow({ limit: 9, window: `${1_000 * i + j}ms`, name: `limit ${j}` }),
    );
    await limiter.consume("ada", { limits });
  }
  const { limiters } = await listed(store);
  const { perCallPolicies = [], morePerCallPolicies = 0 } = limiters[0] ?? {};
  expect(perCallPolicies.length).toBeGreaterThan(5);
  expect(perCallPolicies.length + morePerCallPolicies).toBe(64);
  expect(limiters[0]?.limits).toEqual([hourly]);
});

test("an operator inspects, resets, blocks and unblocks a subject under all per-call policies", async () => {
  const { store, limiter } = open();
  await limiter.consume("ada", { cost: 2 });
  await limiter.consume("ada", { limits: daily(9), cost: 4 });
  const registry = await listed(store);
  const [found] = registry.limiters;
  const policies = found?.perCallPolicies?.map(({ limits }) => limits) ?? [];
  const asked = { name: "api", limits: hourly, perCallPolicies: policies };
  const admin = createAdmin(store);
  const usedIn = ({
    limits,
  }: {
    limits: readonly { name: string; limit: number; remaining: number }[];
  }) => limits.map(({ name, limit, remaining }) => [name, limit - remaining]);
  expect(usedIn(await admin.inspect(asked, "ada"))).toEqual([
    ["5-per-1h", 2],
    ["9-per-1d", 4],
  ]);
  const preview = await admin.reset(asked, "ada", { dryRun: true });
  expect([usedIn(preview.before), usedIn(preview.after)]).toEqual([
    [
      ["5-per-1h", 2],
      ["9-per-1d", 4],
    ],
    [["5-per-1h", 0]],
  ]);
  await admin.reset(asked, "ada");
  expect(await limiter.peek("ada", { limits: daily(9), cost: 0 })).toMatchObject({ remaining: 9 });
  await admin.block(asked, "ada", "1h");
  expect(await limiter.consume("ada", { limits: daily(9) })).toMatchObject({ blocked: true });
  expect((await readBlocks(store, { registry })).blocks).toMatchObject([
    { limiter: "api", subject: "ada" },
  ]);
  await admin.unblock(asked, "ada");
  expect(await limiter.consume("ada", { limits: daily(9) })).toMatchObject({ allowed: true });
  await admin.forget(asked, "ada");
  expect(await redis.keys(`${store.prefix}:{ada}:*`)).toEqual([]);
});

test("an override applies to the per-call policies that it fits, and is reported as in force", async () => {
  const { store, limiter } = open();
  await limiter.consume("ada", { limits: daily(9) });
  const override = {
    limiter: "api",
    subject: { default: "ada" },
    limits: { "9-per-1d": { limit: 50 } },
  };
  expect(overrideCoverageOf(override, await listed(store))).toMatchObject({
    state: "in-force",
    applyingProcesses: 1,
  });
  await createAdmin(store).setOverride(override);
  await expect
    .poll(() => limiter.peek("ada", { limits: daily(9), cost: 0 }), { timeout: 10_000 })
    .toMatchObject({ limit: 50, remaining: 49, overridden: true });
  expect(await limiter.peek("ada", { cost: 0 })).toMatchObject({ limit: 5, overridden: false });
});
