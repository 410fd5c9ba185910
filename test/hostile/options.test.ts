import { fc, test } from "@fast-check/vitest";
import type { Limiter, Store } from "@headgate/core";
import { createLimiter, gcra, memoryStore } from "@headgate/core";
import { byHeader, byIp, byTier } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import Fastify from "fastify";
import { expect } from "vitest";
import { likeIoredis } from "../support/like-ioredis.ts";
import { addGarbage, expectCode, garbage, orCode } from "./garbage.ts";
import { runs } from "./hostile-texts.ts";

/** Any value in place of an option either works or causes an error with a code. A failed construction registers no name. */

const limits = gcra({ limit: 5, window: "1m" });

/** A method as JavaScript calls it. */
type Loose = (...args: unknown[]) => Promise<unknown>;

/** Some of these properties, each right or garbage, and now and then one that does not exist. */
function optionsOf(right: Readonly<Record<string, readonly unknown[]>>): fc.Arbitrary<object> {
  const entries = Object.entries({ ...right, bogus: [] }).map(([name, values]) => {
    const value = values.length > 0 ? fc.oneof(fc.constantFrom(...values), garbage) : garbage;
    return [name, value] as const;
  });
  return fc.oneof(
    { weight: 9, arbitrary: fc.record(Object.fromEntries(entries), { requiredKeys: [] }) },
    { weight: 1, arbitrary: garbage as fc.Arbitrary<object> },
  );
}

const LIMITER_OPTIONS = {
  name: ["api", "}:x{", "\ud800"],
  limits: [limits, [limits]],
  store: [undefined],
  maxQueue: [1, 10],
  storeTimeout: ["100ms", 50],
  onUnavailable: ["local", "allow", "deny"],
  localShare: [1, 0.5],
  denyCache: [true, false],
  lease: [false, { max: 10, ttl: "1s" }],
  blockOn: ["denial", "settle"],
};

/** The valid values of the options, stated independently of the code. */
const IS_RIGHT: Readonly<Record<string, (value: unknown) => boolean>> = {
  maxQueue: (value) => Number.isSafeInteger(value) && (value as number) >= 1,
  maxKeys: (value) =>
    Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 2 ** 24,
  onUnavailable: (value) => ["local", "allow", "deny"].includes(value as string),
  localShare: (value) => typeof value === "number" && value > 0 && value <= 1,
  denyCache: (value) => typeof value === "boolean",
  blockOn: (value) => ["denial", "settle"].includes(value as string),
  lease: (value) => value === false || (value as { max?: unknown }).max === 10,
  clock: (value) => typeof value === "function",
  missingKey: (value) => ["ip", "reject", "skip"].includes(value as string),
  skip: (value) => typeof value === "function",
  hook: (value) => ["onRequest", "preHandler"].includes(value as string),
  ipv6Prefix: (value) =>
    Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 128,
  ipv4Prefix: (value) =>
    Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 32,
  hashSecret: (value) => typeof value === "string" && value !== "",
  bogus: () => false,
};

/** Expects of options that were taken that each is right, or left out. */
function expectRight(options: object = {}): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined && name !== "bogus") continue;
    expect([name, value, IS_RIGHT[name]?.(value) ?? true]).toEqual([name, value, true]);
  }
}

test.prop([optionsOf(LIMITER_OPTIONS)], runs(160))("createLimiter", async (options) => {
  const store = memoryStore();
  const own = addGarbage({ store }, options);
  const limiter = orCode(() => createLimiter(own as never));
  if (limiter !== undefined) {
    expectRight(own);
    expect(await limiter.consume("ann")).toMatchObject({ remaining: 4 });
  }
  await limiter?.close();
  // The name is free again.
  const name = (options as { name?: unknown } | null)?.name;
  if (typeof name !== "string" || name === "" || name.length > 512) return;
  await createLimiter({ name, limits: gcra({ limit: 9, window: "1h" }), store }).close();
});

test.prop([optionsOf({ maxKeys: [1, 100], clock: [Date.now] })], runs(200))(
  "memoryStore",
  (options) => {
    if (orCode(() => memoryStore(options as never)) !== undefined) expectRight(options);
  },
);

test.prop([garbage, optionsOf({ prefix: ["hg", "a.b"], clock: [Date.now] })], runs(200))(
  "redisStore",
  (client, options) => {
    orCode(() => redisStore(client as never));
    const known = likeIoredis(async () => [[1]]);
    const store = orCode(() => redisStore(known, options as never)) as Store | undefined;
    if (store !== undefined) expect(store.prefix).toMatch(/^[\w.-]{1,32}$/);
  },
);

test.prop(
  [
    garbage,
    garbage,
    optionsOf({ ipv6Prefix: [64], ipv4Prefix: [24] }),
    optionsOf({ hashSecret: ["s"] }),
  ],
  runs(200),
)("byHeader, byIp, byTier", (one, other, ip, header) => {
  orCode(() => byIp(ip as never));
  orCode(() => byHeader(one as never));
  orCode(() => byHeader("x-key", header as never));
  orCode(() => byTier(one as never, other as never));
  orCode(() => byTier({ free: one as never }, () => "free"));
});

const GUARD_OPTIONS = {
  name: ["api"],
  limits: [limits, [limits], byTier({ free: limits }, () => "free")],
  store: [undefined],
  key: [() => "ann", { default: () => "ann" }],
  missingKey: ["ip", "reject", "skip"],
  cost: [1, () => 1],
  skip: [() => false],
  headers: [true, false, { legacy: false }],
  onDenied: ["error", () => {}],
  storeTimeout: ["100ms"],
  onUnavailable: ["local", "deny"],
  localShare: [0.5],
  denyCache: [false],
  lease: [{ max: 10, ttl: "1s" }],
};

test.prop([optionsOf(GUARD_OPTIONS)], runs(160))("rateLimit of Express", async (options) => {
  const middleware = orCode(() => rateLimit(options as never));
  if (middleware !== undefined) expectRight(options);
  await middleware?.close();
});

test.prop([optionsOf({ ...GUARD_OPTIONS, hook: ["onRequest", "preHandler"] })], runs(80))(
  "the plugin of Fastify, and its routes",
  async (options) => {
    for (const route of [{}, { config: { rateLimit: options } }]) {
      const app = Fastify();
      const plugin = "config" in route ? { limits } : options;
      // Fastify's own register asks for an object or a function before it asks the plugin.
      if (typeof plugin !== "object" || plugin === null) continue;
      try {
        app.register(headgate, plugin as never);
        app.get("/", route as never, async () => "fine");
        await app.ready();
        expectRight(options);
        expect((await app.inject("/")).statusCode).toBeLessThanOrEqual(500);
      } catch (error) {
        expectCode(error);
      } finally {
        await app.close();
      }
    }
  },
);

test.prop([garbage, garbage], runs(160))(
  "what a limiter's methods are given",
  async (one, other) => {
    const limiter: Limiter = createLimiter({ limits: [limits, { ...limits, per: "tenant" }] });
    const single: Limiter = createLimiter({ limits });
    const calls = [limiter, single].flatMap((target) => [
      () => target.consume(one as never),
      () => target.consume({ default: one, tenant: other } as never),
      () => target.consume("ann", one as never),
      () => target.peek("ann", { cost: one } as never),
      () => target.reset(one as never),
      () => target.refund(one as never),
      () => (target.reset as Loose)("ann", one),
      () => (target.refund as Loose)(one, other),
      () => target.wait("ann", addGarbage({ timeout: 1 }, one) as never),
      () => target.wait("ann", { timeout: 1, signal: one } as never),
      () => target.wait("ann", { timeout: one, cost: 6 } as never),
    ]);
    for (const call of calls) await call().catch((error: unknown) => expectCode(error));
    await Promise.all([limiter.close(), single.close()]);
  },
);
