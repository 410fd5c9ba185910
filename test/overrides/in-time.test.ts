import { setTimeout as delay } from "node:timers/promises";
import type { Decision, Limiter, LimiterOptions } from "@headgate/core";
import { createLimiter, fixedWindow } from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { waitUntil } from "../support/wait-until.ts";

const redis = useOwnRedis();

const limits = fixedWindow({ limit: 10, window: "1h", name: "hourly" });
const to = (limit: number) => ({ limiter: "api", limits: { hourly: { limit } } });

/** A limiter on a connection of its own, as in another process than the operator's. */
function elsewhere(options: Partial<LimiterOptions> = {}): Limiter {
  const client = new Redis(redis.server.socket);
  client.on("error", () => {});
  const store = redisStore(client);
  const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "5s", ...options });
  onTestFinished(async () => {
    await limiter.close();
    client.disconnect();
  });
  return limiter;
}

const operator = () => createAdmin(redisStore(redis.client));

/** The first decision that is as it should be, and when it was asked for. */
async function first(ask: () => Promise<Decision>, is: (decision: Decision) => boolean) {
  for (;;) {
    const begun = Date.now();
    const decision = await ask();
    if (is(decision)) return { begun, decision };
    await delay(5);
  }
}

async function used(): Promise<number | undefined> {
  const { limits: states } = await operator().inspect({ name: "api", limits }, "ada");
  return states[0] && 10 - states[0].remaining + states[0].overdrawn;
}

describe("an override that another client sets", () => {
  test("admits denied clients by effectiveAt, also those in the deny cache", async () => {
    const limiter = elsewhere();
    await limiter.consume("ada", { cost: 10 });
    const ask = () => limiter.consume("ada");
    expect((await first(ask, ({ source }) => source === "deny-cache")).decision.allowed).toBe(
      false,
    );
    const { effectiveAt } = await operator().setOverride({
      ...to(11),
      subject: { default: "ada" },
    });
    const { begun, decision } = await first(ask, ({ allowed }) => allowed);
    expect(decision).toMatchObject({ overridden: true, limit: 11, source: "store" });
    expect(begun).toBeLessThanOrEqual(effectiveAt.getTime());
    expect(await limiter.consume("bob")).toMatchObject({ overridden: false, limit: 10 });
  });

  test("applies to the first decision of an idle process", async () => {
    const limiter = elsewhere();
    await limiter.consume("ada", { cost: 10 });
    const { effectiveAt } = await operator().setOverride(to(5));
    await delay(effectiveAt.getTime() - Date.now() + 1);
    expect(await limiter.consume("bob")).toMatchObject({ overridden: true, limit: 5 });
  });

  test("admits waiting calls by effectiveAt", async () => {
    const limiter = elsewhere();
    await limiter.consume("ada", { cost: 10 });
    const waiting = limiter.wait("ada");
    await delay(100);
    const { effectiveAt } = await operator().setOverride(to(11));
    expect(await waiting).toMatchObject({ allowed: true, overridden: true });
    expect(Date.now()).toBeLessThanOrEqual(effectiveAt.getTime());
  });

  test("like a reset, reaches a waiting call by effectiveAt in a process without other decisions", async () => {
    const limiter = elsewhere();
    await limiter.consume("ada", { cost: 10 });
    const waiting = limiter.wait("ada");
    await delay(100);
    const { effectiveAt } = await operator().reset({ name: "api", limits }, "ada");
    expect(await waiting).toMatchObject({ allowed: true, remaining: 9 });
    expect(Date.now()).toBeLessThanOrEqual(effectiveAt.getTime());
  });

  test("ends leases: unspent units are returned, and leased again after the override", async () => {
    const many = { ...limits, limit: 1_000 };
    const limiter = elsewhere({ limits: many, lease: { max: 100, ttl: "1m" } });
    let admitted = 0;
    const ask = async () => {
      const decision = await limiter.consume("ada");
      if (decision.allowed) admitted += 1;
      return decision;
    };
    await first(ask, ({ source }) => source === "lease");
    expect(await used()).toBeGreaterThan(admitted);
    const { effectiveAt } = await operator().setOverride(to(admitted + 2));
    const { begun } = await first(ask, ({ overridden }) => overridden);
    expect(begun).toBeLessThanOrEqual(effectiveAt.getTime());
    await first(ask, ({ allowed }) => !allowed);
    await waitUntil("what is held is given back", 5_000, async () =>
      (await used()) === admitted ? true : undefined,
    );
    await operator().unsetOverride({ limiter: "api" });
    await first(ask, ({ source }) => source === "lease");
  });

  test("expires on time also while Redis is unavailable", async () => {
    const limiter = elsewhere({ storeTimeout: 100 });
    await operator().setOverride(to(50), { for: "1s" });
    await first(
      () => limiter.peek("ada"),
      ({ overridden }) => overridden,
    );
    redis.server.freeze();
    onTestFinished(() => redis.server.thaw());
    const away = await first(
      () => limiter.peek("ada"),
      ({ source }) => source === "local",
    );
    expect(away.decision).toMatchObject({ overridden: true, limit: 50 });
    const { begun, decision } = await first(
      () => limiter.peek("ada"),
      ({ overridden }) => !overridden,
    );
    expect(decision).toMatchObject({ source: "local", limit: 10 });
    expect(begun - away.begun).toBeLessThan(3_500);
    redis.server.thaw();
    const healed = await first(
      () => limiter.peek("ada"),
      ({ source }) => source === "store",
    );
    expect(healed.decision).toMatchObject({ overridden: false, limit: 10 });
  });
});
