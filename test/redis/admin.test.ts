import type { Decision } from "@headgate/core";
import { concurrency, createLimiter, fixedWindow, gcra, memoryStore } from "@headgate/core";
import type { Admin, ControlRecord, NewOverride } from "@headgate/core/admin";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { formatBody } from "../../packages/core/src/control/record-text.ts";
import { useLosableRedis } from "../http/support/losable-redis.ts";
import { watchWarnings } from "../http/support/warnings.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { waitUntil } from "../support/wait-until.ts";
import { STORE_ALONE } from "./store-alone.ts";

const own = useOwnRedis();
const losable = useLosableRedis();

const HOUR = fixedWindow({ limit: 3, window: "1h" });
const api = { name: "api", limits: HOUR };

/** An operator on a clock that the test turns. */
function start() {
  let now = 1_800_000_000_000;
  const store = redisStore(own.client, { clock: () => now });
  return {
    store,
    operator: createAdmin(store),
    now: () => now,
    pass(ms: number) {
      now += ms;
    },
  };
}

/** Decides once by a new limiter. */
async function consume(store = redisStore(own.client), subject = "ann"): Promise<Decision> {
  const limiter = createLimiter({ ...STORE_ALONE, ...api, store });
  const decision = await limiter.consume(subject);
  await limiter.close();
  return decision;
}

describe("an action", () => {
  test("an action returns the state before and after it, and the time from which all processes follow it", async () => {
    const { store, operator: admin, now } = start();
    for (let i = 0; i < 2; i += 1) await consume(store);
    const effectiveAt = new Date(now() + 2_000);
    const blocked = await admin.block(api, "ann", "1h");
    expect(blocked).toMatchObject({
      before: { blocked: false, limits: [{ name: "3-per-1h", remaining: 1 }] },
      after: { blocked: true, limits: [{ retryAfterMs: 3_600_000 }] },
      effectiveAt,
    });
    expect(await consume(store)).toMatchObject({ blocked: true });
    const unblocked = await admin.unblock(api, { default: "ann" });
    expect(unblocked).toMatchObject({ before: { blocked: true }, after: { blocked: false } });
    const reset = await admin.reset(api, "ann");
    expect(reset).toMatchObject({
      before: { limits: [{ remaining: 1 }] },
      after: { limits: [{ remaining: 3 }] },
      effectiveAt,
    });
    expect(await admin.inspect(api, "ann")).toEqual(reset.after);
    expect(await consume(store)).toMatchObject({ remaining: 2 });
  });

  test("an action can ignore dimensions that the limiter lacks", async () => {
    const { store, operator: admin } = start();
    await consume(store);
    const ann = { default: "ann", tenant: "acme" };
    const ignoring = { ignoreUnknownDimensions: true };
    await expect(admin.reset(api, ann)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining('no limit counts by "tenant"'),
    });
    await expect(admin.reset(api, ann, { ignoreUnknownDimensions: 1 as never })).rejects.toThrow(
      /ignoreUnknownDimensions must/,
    );
    expect(await admin.block(api, ann, "1 hour", ignoring)).toMatchObject({
      after: { blocked: true },
    });
    expect(await admin.unblock(api, ann, ignoring)).toMatchObject({ after: { blocked: false } });
    expect(await admin.reset(api, ann, ignoring)).toMatchObject({
      before: { limits: [{ remaining: 2 }] },
      after: { limits: [{ remaining: 3 }] },
    });
    const { entries } = await admin.log();
    const other = { tenant: "acme" };
    const nothing = { limits: [], blocked: false, blocks: [] };
    for (const options of [ignoring, { ...ignoring, dryRun: true }]) {
      const done = await admin.reset(api, other, options);
      expect(done).toMatchObject({ before: nothing, after: nothing });
    }
    expect((await admin.log()).entries).toHaveLength(entries.length);
    expect(entries[0]).toMatchObject({ kind: "reset", subject: { default: "ann" } });
  });

  test("an action finds subjects blocked by confirmed charges if blockOn is given", async () => {
    const login = {
      name: "login",
      limits: fixedWindow({ limit: 1, window: "1h", block: "10m" }),
      blockOn: "settle",
    } as const;
    const { store, operator: admin } = start();
    const limiter = createLimiter({ ...STORE_ALONE, ...login, store });
    await limiter.settle(await limiter.consume("ann"), 1);
    expect(await admin.inspect(login, "ann")).toMatchObject({ blocked: true });
    const { blockOn: _, ...byDenials } = login;
    expect(await admin.inspect(byDenials, "ann")).toMatchObject({ blocked: false });
    const reset = await admin.reset(login, "ann");
    expect(reset).toMatchObject({ before: { blocked: true }, after: { blocked: false } });
    expect(await limiter.consume("ann")).toMatchObject({ allowed: true });
    await limiter.close();
    const unknown = admin.inspect({ ...login, blockOn: "never" as never }, "ann");
    await expect(unknown).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
  });

  test("an action becomes an order for all processes, in force two seconds later by the server's clock", async () => {
    const { operator: admin, now, pass } = start();
    const from = (now() + 2_000) * 1_000;
    await admin.reset(api, { default: 'a "from":-5' });
    expect(await admin.readControl()).toEqual({
      version: now() * 1_000,
      overrides: [],
      invalidations: [{ limiter: "api", subject: { default: 'a "from":-5' }, kind: "reset", from }],
    });
    pass(1);
    await admin.block(api, "bob", "1m");
    const { version, invalidations } = await admin.readControl();
    expect(version).toBe(now() * 1_000);
    expect(invalidations.map((invalidation) => [invalidation.kind, invalidation.from])).toEqual([
      ["reset", from],
      ["block", from + 1_000],
    ]);
  });

  test("an action applies only to the named dimensions", async () => {
    const { store, operator: admin } = start();
    const limits = [HOUR, fixedWindow({ limit: 3, window: "1h", per: "tenant" })];
    const limiter = createLimiter({ ...STORE_ALONE, name: "two", limits, store });
    await limiter.consume({ default: "ann", tenant: "acme" });
    const { before, after } = await admin.reset({ name: "two", limits }, { tenant: "acme" });
    expect(before.limits.map(({ per, remaining }) => [per, remaining])).toEqual([["tenant", 2]]);
    expect(after.limits.map(({ remaining }) => remaining)).toEqual([3]);
    const look = await limiter.peek({ default: "ann", tenant: "acme" }, { cost: 0 });
    expect(look.limits.map(({ remaining }) => remaining)).toEqual([2, 3]);
    const [invalidation] = (await admin.readControl()).invalidations;
    expect(invalidation?.subject).toEqual({ tenant: "acme" });
    await limiter.close();
  });

  test("two simultaneous actions both become orders", async () => {
    const { store } = start();
    const operators = Array.from({ length: 12 }, () => createAdmin(store));
    await Promise.all(operators.map((one, i) => one.block(api, `subject ${i}`, "1h")));
    const [admin] = operators as [Admin];
    expect((await admin.readControl()).invalidations).toHaveLength(12);
    const { entries } = await admin.log();
    expect(new Set(entries.map(({ subject }) => subject?.["default"])).size).toBe(12);
  });

  test("the control record's key expires once nothing depends on it", async () => {
    const admin = createAdmin(redisStore(own.client));
    await admin.reset(api, "ann");
    const ttl = await own.client.pttl("hg:{control}");
    expect(ttl).toBeGreaterThan(100_000);
    expect(ttl).toBeLessThanOrEqual(122_001);
    await admin.setOverride({ limiter: "api", shadow: true }, { for: "1h" });
    expect(await own.client.pttl("hg:{control}")).toBeGreaterThan(3_500_000);
    await admin.setOverride({ limiter: "api", shadow: true }, { for: "forever" });
    expect(await own.client.pttl("hg:{control}")).toBe(-1);
    await admin.unsetOverride({ limiter: "api" });
    expect(await own.client.pttl("hg:{control}")).toBeGreaterThan(0);
  });

  test("an old action is no longer an order", async () => {
    const { operator: admin, pass } = start();
    await admin.reset(api, "ann");
    pass(121_999);
    await admin.reset(api, "bob");
    expect((await admin.readControl()).invalidations).toHaveLength(2);
    pass(2);
    await admin.reset(api, "eve");
    const { invalidations } = await admin.readControl();
    expect(invalidations.map(({ subject }) => subject["default"])).toEqual(["bob", "eve"]);
  });

  test("at most 256 orders are kept: dropping older ones makes all processes forget everything cached before", async () => {
    const { operator: admin, pass } = start();
    let dropped: number | undefined;
    for (let i = 0; i < 258; i += 1) {
      const { effectiveAt } = await admin.reset(api, `subject ${i}`);
      if (i === 1) dropped = effectiveAt.getTime() * 1_000;
      pass(1);
    }
    const { invalidations, invalidateAllBefore } = await admin.readControl();
    expect(invalidations).toHaveLength(256);
    expect(invalidations[0]?.subject).toEqual({ default: "subject 2" });
    expect(invalidateAllBefore).toBe(dropped);
    pass(200_000);
    await admin.reset(api, "ann");
    expect(await admin.readControl()).not.toHaveProperty("invalidateAllBefore");
  });

  test("an action after the clock stepped back still is a new version", async () => {
    const { operator: admin, pass } = start();
    await admin.reset(api, "ann");
    const { version } = await admin.readControl();
    pass(-60_000);
    await admin.reset(api, "bob");
    expect((await admin.readControl()).version).toBe(version + 1);
  });
});

describe("a record that is full", () => {
  /** Writes a record with overrides of so many bytes. */
  async function write(bytes: number): Promise<void> {
    const one = { limiter: "api", shadow: true, from: 0, until: null };
    const overrides = Array.from({ length: Math.floor(bytes / 4_000) }, (_, i) => ({
      ...one,
      subject: { default: `${i} ${"x".repeat(900)}`, b: "漢".repeat(1_000) },
    }));
    const text = `0000000000000001${formatBody({ overrides, invalidations: [] })}`;
    const filling = "y".repeat(bytes - Buffer.byteLength(text));
    await own.client.set("hg:{control}", text.replace('"api"', `"api${filling}"`));
    expect(await own.client.strlen("hg:{control}")).toBe(bytes);
  }

  test("overrides and the deny list leave room for orders in a full control record", async () => {
    const { operator: admin } = start();
    await write(796_000);
    const subject = { default: "ann", b: "漢".repeat(1_000) };
    let added = 0;
    const fill = async (): Promise<void> => {
      for (; added < 20; added += 1) {
        const place = { limiter: `limiter ${added}`, subject };
        await admin.setOverride({ ...place, shadow: true }, { for: "forever" });
      }
    };
    await expect(fill()).rejects.toThrow("and may have 802368: remove overrides");
    expect(added).toBeLessThan(20);
    const reason = "漢".repeat(200);
    const deny = async (): Promise<void> => {
      for (let i = 1; i < 20; i += 1) await admin.addToDenyList(`203.0.113.${i}`, { reason });
    };
    await expect(deny()).rejects.toThrow("and may have 802368: remove overrides");
    const longest = Object.fromEntries(["default", "b", "c"].map((one) => [one, "漢".repeat(999)]));
    const limits = ["default", "b", "c"].map((per) => fixedWindow({ limit: 3, window: "1h", per }));
    for (const act of ["reset", "unblock", "reset"] as const) {
      await admin[act]({ name: "wide", limits }, longest);
    }
    await admin.block({ name: "wide", limits }, longest, "1h");
    expect((await admin.readControl()).invalidations).toHaveLength(4);
    await admin.forget(api, "ann");
    await admin.unsetOverride({ limiter: "limiter 0", subject });
  });

  test("a full control record rejects an order before anything is changed", async () => {
    const { store, operator: admin } = start();
    await consume(store);
    await write(999_900);
    const code = "HEADGATE_INVALID_OPTION";
    await expect(admin.reset(api, "ann", { dryRun: true })).rejects.toMatchObject({ code });
    await expect(admin.reset(api, "ann")).rejects.toMatchObject({ code });
    await expect(admin.block(api, "ann", "1h")).rejects.toMatchObject({ code });
    await expect(admin.forget(api, "ann")).rejects.toMatchObject({ code });
    expect(await admin.inspect(api, "ann")).toMatchObject({
      blocked: false,
      limits: [{ remaining: 2 }],
    });
    expect((await admin.log()).entries).toEqual([]);
  });
});

describe("an override", () => {
  const from = (1_800_000_000_000 + 2_000) * 1_000;

  test("an override starts when all processes know it, and lasts a day by default", async () => {
    const { operator: admin } = start();
    const override = { limiter: "api", limits: { "3-per-1h": { limit: 5 } } };
    const set = await admin.setOverride(override);
    const made = { ...override, from, until: from + 86_400_000_000 };
    expect(set).toEqual({ before: undefined, after: made, effectiveAt: new Date(from / 1_000) });
    expect((await admin.readControl()).overrides).toEqual([made]);
    const subject = { default: "ann" };
    await admin.setOverride({ limiter: "api", subject, shadow: true }, { for: "forever" });
    expect((await admin.readControl()).overrides).toEqual([
      made,
      { limiter: "api", subject, shadow: true, from, until: null },
    ]);
  });

  test("an override replaces one for the same limiter and subject, and can be removed", async () => {
    const { operator: admin } = start();
    const first = { limiter: "api", subject: { a: "1", b: "2" }, shadow: true };
    await admin.setOverride({ limiter: "api", shadow: false });
    const { after } = await admin.setOverride(first, { for: "1h" });
    const second = { ...first, subject: { b: "2", a: "1" }, shadow: false };
    const { before } = await admin.setOverride(second, { for: "2h" });
    expect(before).toEqual(after);
    const unset = await admin.unsetOverride({ limiter: "api", subject: first.subject });
    expect(unset.before).toMatchObject({ shadow: false, until: from + 7_200_000_000 });
    expect(unset.after).toBeUndefined();
    expect((await admin.readControl()).overrides).toMatchObject([{ limiter: "api" }]);
    expect(await admin.unsetOverride({ limiter: "other" })).toMatchObject({ before: undefined });
  });

  test("expired overrides and denied networks are not listed", async () => {
    const { operator: admin, pass } = start();
    await admin.setOverride({ limiter: "api", shadow: true }, { for: "1h" });
    await admin.addToDenyList("203.0.113.7", { for: "1h" });
    await admin.addToDenyList("203.0.113.8", { for: "2h" });
    const found = async () => {
      const { overrides, denyList = [] } = await admin.readControl();
      return [
        ...overrides.map(({ limiter }) => limiter),
        ...denyList.map(({ network }) => network),
      ];
    };
    pass(3_599_999);
    expect(await found()).toEqual(["api", "203.0.113.7", "203.0.113.8"]);
    pass(1);
    expect(await found()).toEqual(["api", "203.0.113.8"]);
    pass(2_000);
    expect(await found()).toEqual(["203.0.113.8"]);
  });

  test("an expired override or denied network is not what an action replaced", async () => {
    const { operator: admin, pass } = start();
    const override = { limiter: "api", shadow: true };
    const network = "203.0.113.7";
    const set = await admin.setOverride(override, { for: "1h" });
    const added = await admin.addToDenyList(network, { for: "1h" });
    // A preview shows the same.
    const replaced = async () => [
      (await admin.setOverride(override, { for: "1h", dryRun: true })).before,
      (await admin.unsetOverride({ limiter: "api" }, { dryRun: true })).before,
      (await admin.addToDenyList(network, { for: "1h", dryRun: true })).before,
      (await admin.removeFromDenyList(network, { dryRun: true })).before,
    ];
    pass(3_599_999);
    expect(await replaced()).toEqual([set.after, set.after, added.after, added.after]);
    pass(1);
    expect(await replaced()).toEqual([set.after, set.after, undefined, undefined]);
    pass(2_000);
    expect(await replaced()).toEqual([undefined, undefined, undefined, undefined]);
    expect((await admin.addToDenyList(network, { for: "1h" })).before).toBeUndefined();
  });

  test("an expired override makes room for another, and more than 1,000 are rejected", async () => {
    const { operator: admin, pass } = start();
    const many: ControlRecord["overrides"] = Array.from({ length: 1_000 }, (_, i) => ({
      limiter: `limiter ${i}`,
      shadow: true,
      from,
      until: from + 1_000_000,
    }));
    const body = formatBody({ overrides: many, invalidations: [] });
    await own.client.set("hg:{control}", `${from}${body}`);
    const next = { limiter: "api", shadow: true };
    await expect(admin.setOverride(next)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining("1000 overrides"),
    });
    await admin.setOverride({ limiter: "limiter 5", shadow: false }, { for: "1h" });
    pass(3_001);
    await admin.setOverride(next);
    expect((await admin.readControl()).overrides).toHaveLength(2);
  });

  test.each<[unknown, unknown, string]>([
    [{ limiter: "api" }, {}, "limits, shadow, or both"],
    [{ limiter: "", shadow: true }, {}, "limiter must be"],
    [{ limiter: "api", shadow: 1 }, {}, "shadow must be"],
    [{ limiter: "api", shadow: true, subject: "ann" }, {}, "subject must be"],
    [{ limiter: "api", shadow: true, subject: {} }, {}, "subject must be"],
    [{ limiter: "api", shadow: true, subject: { default: "" } }, {}, "subject must be"],
    [{ limiter: "api", shadow: true, subject: { default: "x".repeat(1_001) } }, {}, "1000"],
    [{ limiter: "api", limits: {} }, {}, "limits must be"],
    [{ limiter: "api", limits: [] }, {}, "limits must be"],
    [{ limiter: "api", limits: { a: {} } }, {}, "no number"],
    [{ limiter: "api", limits: { a: { window: 5 } } }, {}, '"window"'],
    [{ limiter: "api", limits: { a: { limit: -1 } } }, {}, "limit must be"],
    [{ limiter: "api", limits: { a: { limit: 1.5 } } }, {}, "limit must be"],
    [{ limiter: "api", limits: { a: { refill: 1_000_000_001 } } }, {}, "refill must be"],
    [{ limiter: "api", limits: { [`${"x".repeat(4_096)}`]: { limit: 1 } } }, {}, "4096"],
    [{ limiter: "api", shadow: true, until: 5 }, {}, '"until"'],
    [{ limiter: "api", shadow: true }, { for: 0 }, "for"],
    [{ limiter: "api", shadow: true }, { for: "ever" }, "for"],
    [{ limiter: "api", shadow: true }, { reason: 5 }, "reason must be"],
    [{ limiter: "api", shadow: true }, { reason: "x".repeat(1_001) }, "reason must be"],
    [{ limiter: "api", shadow: true }, { by: "x".repeat(257) }, "by must be"],
    [{ limiter: "api", shadow: true }, { force: true }, '"force"'],
  ])("the override %j with %j is rejected", async (override, options, says) => {
    const { operator: admin } = start();
    await expect(
      admin.setOverride(override as NewOverride, options as object),
    ).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining(says),
    });
    expect(await own.client.keys("*")).toEqual([]);
  });
});

describe("an inspection", () => {
  test("an inspection shows whether an operator or a limit blocks, and for how long", async () => {
    const { store, operator: admin, pass } = start();
    const limits = [
      fixedWindow({ limit: 3, window: "1h", name: "hourly", block: "10m" }),
      gcra({ limit: 100, window: "1m" }),
      fixedWindow({ limit: 50, window: "1h", per: "tenant" }),
    ];
    const many = { name: "many", limits };
    const subject = { default: "ann", tenant: "acme" };
    const limiter = createLimiter({ ...STORE_ALONE, ...many, store });
    for (let i = 0; i < 3; i += 1) await limiter.consume(subject);
    expect(await admin.inspect(many, subject)).toMatchObject({ blocked: false, blocks: [] });
    await limiter.consume(subject);
    pass(1_000);
    const blocks = [{ per: "default", limit: "hourly", endsInMs: 599_000 }];
    expect(await admin.inspect(many, subject)).toMatchObject({ blocked: true, blocks });
    await admin.block(many, { tenant: "acme" }, "1h");
    expect(await admin.inspect(many, subject)).toMatchObject({
      blocks: [...blocks, { per: "tenant", endsInMs: 3_600_000 }],
    });
    pass(599_000);
    expect((await admin.inspect(many, subject)).blocks).toEqual([
      { per: "tenant", endsInMs: 3_001_000 },
    ]);
    await limiter.close();
  });

  test("an inspection shows a manual block once, even if the limiter counts slots and units", async () => {
    const { operator: admin } = start();
    const limits = [HOUR, concurrency({ limit: 2, ttl: "1m" })];
    await admin.block({ name: "both", limits }, "ann", "1h");
    expect(await admin.inspect({ name: "both", limits }, "ann")).toMatchObject({
      blocks: [{ per: "default", endsInMs: 3_600_000 }],
    });
  });

  test("an inspection returns the decision of a request under the active overrides, and charges nothing", async () => {
    const { store, operator: admin } = start();
    for (let i = 0; i < 2; i += 1) await consume(store);
    const keys = await own.client.keys("*");
    const values = await own.client.mgetBuffer(keys);
    expect(await admin.peek(api, "ann")).toMatchObject({ allowed: true, remaining: 0 });
    expect(await admin.peek(api, "ann", { cost: 0 })).toMatchObject({ remaining: 1 });
    expect(await admin.peek(api, "ann", { cost: 2 })).toMatchObject({ allowed: false, cost: 2 });
    const named = { cost: { "3-per-1h": 2 } };
    expect(await admin.peek(api, "ann", named)).toMatchObject({ allowed: false, ...named });
    expect(await own.client.mgetBuffer(await own.client.keys("*"))).toEqual(values);
    await admin.setOverride({ limiter: "api", limits: { "3-per-1h": { limit: 5 } } });
    await admin.setOverride({ limiter: "api", subject: { default: "ann" }, shadow: true });
    expect(await admin.peek(api, "ann", { cost: 4 })).toMatchObject({
      allowed: true,
      wouldAllow: false,
      overridden: true,
      shadow: true,
      limit: 5,
      remaining: 3,
    });
    expect(await admin.peek(api, "bob", { cost: 6 })).toMatchObject({
      allowed: false,
      limit: 5,
    });
    const shadowed = admin.peek({ ...api, name: "other", shadow: true }, "ann", { cost: 4 });
    expect(await shadowed).toMatchObject({ allowed: true, wouldAllow: false, overridden: false });
  });

  test.each<[object, unknown, string]>([
    [{ cost: -1 }, api, "HEADGATE_INVALID_COST"],
    [{ cost: { other: 1 } }, api, "HEADGATE_INVALID_COST"],
    [{ limits: [] }, api, "HEADGATE_INVALID_OPTION"],
    [{}, { ...api, shadow: "on" }, "HEADGATE_INVALID_OPTION"],
  ])("an inspection with %j of %j is rejected", async (options, limiter, code) => {
    const { operator: admin } = start();
    await expect(admin.peek(limiter as never, "ann", options)).rejects.toMatchObject({ code });
  });
});

describe("a forgotten subject", () => {
  test("forgetting a subject leaves nothing behind but the log entry", async () => {
    const { store, operator: admin, pass } = start();
    await consume(store);
    await admin.block(api, "ann", "1h", { reason: "ann called", by: "eve" });
    await admin.block(api, "bob", "1h", { reason: "bob called" });
    const subject = { default: "ann" };
    await admin.setOverride({ limiter: "api", subject, shadow: true });
    await admin.setOverride({
      limiter: "gone",
      subject: { ...subject, tenant: "acme" },
      shadow: true,
    });
    await admin.setOverride({ limiter: "api", subject: { default: "bob" }, shadow: true });
    pass(1);
    const options = { reason: "request 17", by: "eve" };
    const forgotten = await admin.forget(api, "ann", options);
    expect(forgotten).toMatchObject({
      before: { blocked: true, limits: [{ remaining: 2 }] },
      after: { blocked: false, limits: [{ remaining: 3 }] },
      overrides: [{ limiter: "api" }, { limiter: "gone" }],
      redactedLogEntries: 3,
    });
    for (const key of await own.client.keys("*")) {
      expect(key).not.toContain("ann");
      const value = key.endsWith(":actions")
        ? (await own.client.lrange(key, 0, -1)).join()
        : String(await own.client.get(key));
      expect(value).not.toContain("ann");
    }
    const { entries, unreadable } = await admin.log();
    expect(unreadable).toBe(0);
    const mark = expect.stringMatching(/^~forgotten~[\w-]{4}$/);
    expect(entries).toMatchObject([
      { kind: "forget", limiter: "api", subject: { default: mark }, reason: "request 17" },
      { kind: "setOverride", subject: { default: "bob" } },
      { kind: "setOverride", limiter: "gone", subject: { default: mark, tenant: "acme" } },
      { kind: "setOverride", limiter: "api", subject: { default: mark } },
      { kind: "block", subject: { default: "bob" }, reason: "bob called" },
      { kind: "block", subject: { default: mark }, by: "eve" },
    ]);
    expect(entries[5]).not.toHaveProperty("reason");
    expect(entries[5]).not.toHaveProperty("before");
    expect(new Set(entries.map((entry) => entry.subject?.["default"])).size).toBe(2);
    const { overrides, invalidations, invalidateAllBefore } = await admin.readControl();
    // No order names the subject, so all processes drop all that they remember.
    expect(invalidateAllBefore).toBe(forgotten.effectiveAt.getTime() * 1_000);
    expect(overrides.map((one) => one.subject)).toEqual([{ default: "bob" }]);
    expect(invalidations.map((invalidation) => invalidation.subject)).toEqual([{ default: "bob" }]);
    expect(await admin.inspect(api, "bob")).toMatchObject({ blocked: true });
    expect(await admin.forget(api, "ann")).toMatchObject({
      overrides: [],
      redactedLogEntries: 0,
      clearedLists: 0,
    });
  });

  test("a subject forgotten twice at one time is redacted twice", async () => {
    const { operator: admin } = start();
    await admin.forget(api, "ann");
    const { invalidateAllBefore: first = 0 } = await admin.readControl();
    await admin.forget(api, "bob");
    expect((await admin.readControl()).invalidateAllBefore).toBe(first + 1);
  });
});

describe("the log", () => {
  test("the log has the actions on breakers, and reading it does not change them", async () => {
    const { operator: admin, now } = start();
    const done = {
      breaker: "bank",
      target: "eu",
      before: { state: "open" },
      after: { state: "closed" },
    };
    expect(await admin.logBreakerAction(done, { dryRun: true })).toEqual(new Date(now()));
    expect((await admin.log()).entries).toEqual([]);
    expect(await admin.logBreakerAction(done, { reason: "mended" })).toEqual(new Date(now()));
    expect((await admin.log()).entries).toMatchObject([
      {
        kind: "breaker",
        limiter: "bank",
        subject: { target: "eu" },
        reason: "mended",
        after: { state: "closed" },
      },
    ]);
    expect(await admin.readControl()).toMatchObject({ invalidations: [], overrides: [] });
    for (const wrong of [
      { breaker: "" },
      { target: "" },
      { target: "x".repeat(1_001) },
      { order: 1 },
    ]) {
      for (const dryRun of [true, false]) {
        const logged = admin.logBreakerAction({ ...done, ...wrong } as never, { dryRun });
        await expect(logged).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
      }
    }
  });

  test("the log has each action with its time, operator and reason, newest first", async () => {
    const { operator: admin, now } = start();
    await admin.block(api, "ann", "1h", { reason: "abuse\nof «it»", by: "eve@example.com" });
    await admin.setOverride({ limiter: "api", shadow: true }, { for: "1h" });
    const { entries, unreadable } = await admin.log();
    expect(unreadable).toBe(0);
    expect(entries).toMatchObject([
      {
        kind: "setOverride",
        limiter: "api",
        by: expect.any(String),
        after: { shadow: true, until: now() * 1_000 + 3_602_000_000 },
      },
      {
        at: new Date(now()),
        kind: "block",
        limiter: "api",
        subject: { default: "ann" },
        by: "eve@example.com",
        aclUser: "default",
        reason: "abuse\nof «it»",
        before: { blocked: false },
        after: { blocked: true, limits: [{ name: "3-per-1h" }] },
      },
    ]);
    expect(entries[1]).not.toHaveProperty("before.limits.0.signal");
  });

  test("the log has at most 1,000 entries, of the last 90 days", async () => {
    const { operator: admin, pass, now } = start();
    const at = (ms: number) => `${ms * 1_000}{"kind":"reset","limiter":"api"}`;
    await own.client.rpush("hg:{control}:actions", ...Array(1_005).fill(at(now())));
    /** The entries that are read, and those that are stored. */
    const counts = async () => [
      (await admin.log()).entries.length,
      await own.client.llen("hg:{control}:actions"),
    ];
    await admin.unsetOverride({ limiter: "api" });
    expect(await counts()).toEqual([1_000, 1_000]);
    pass(90 * 86_400_000);
    await admin.unsetOverride({ limiter: "api" });
    expect(await counts()).toEqual([1_000, 1_000]);
    pass(1);
    await admin.unsetOverride({ limiter: "api" });
    expect(await counts()).toEqual([2, 2]);
    expect(await own.client.pttl("hg:{control}:actions")).toBeGreaterThan(89 * 86_400_000);
  });

  test("the log counts its unreadable entries", async () => {
    const { operator: admin } = start();
    await admin.reset(api, "ann");
    await own.client.lpush("hg:{control}:actions", "rubbish", '1800000000000000{"kind":"other"}');
    expect(await admin.log()).toMatchObject({ entries: [{ kind: "reset" }], unreadable: 2 });
  });
});

describe("failed actions", () => {
  test("a corrupt control record rejects actions before anything is changed", async () => {
    const { store, operator: admin } = start();
    await consume(store);
    await own.client.set("hg:{control}", "rubbish");
    for (const action of [
      () => admin.reset(api, "ann"),
      () => admin.setOverride({ limiter: "api", shadow: true }),
      () => admin.readControl(),
    ]) {
      await expect(action()).rejects.toMatchObject({ code: "HEADGATE_CONTROL_CORRUPT" });
    }
    expect(await admin.inspect(api, "ann")).toMatchObject({ limits: [{ remaining: 2 }] });
    expect(await own.client.get("hg:{control}")).toBe("rubbish");
    await own.client.del("hg:{control}");
    await own.client.lpush("hg:{control}", "a list");
    await expect(admin.readControl()).rejects.toMatchObject({
      code: "HEADGATE_CONTROL_CORRUPT",
    });
  });

  test("an unavailable Redis is reported, and the next action tries again", async () => {
    const store = await losable.openStore();
    const admin = createAdmin(store, { storeTimeout: 100 });
    await admin.reset(api, "ann");
    watchWarnings();
    losable.lose();
    for (let i = 0; i < 2; i += 1) {
      await expect(admin.block(api, "ann", "1h")).rejects.toMatchObject({
        code: "HEADGATE_STORE_UNAVAILABLE",
      });
    }
    losable.thaw();
    await waitUntil("it answers again", 5_000, () => admin.block(api, "ann", "1h"));
    expect(await admin.inspect(api, "ann")).toMatchObject({ blocked: true });
  });

  test("a log of a wrong type leaves the control record unchanged", async () => {
    const { operator: admin } = start();
    await own.client.set("hg:{control}:actions", "a text");
    const code = "HEADGATE_WRONG_TYPE";
    await expect(admin.reset(api, "ann")).rejects.toMatchObject({ code });
    await expect(admin.log()).rejects.toMatchObject({ code });
    expect(await admin.readControl()).toMatchObject({ version: 0 });
  });

  test("unknown options are rejected", async () => {
    const { operator: admin } = start();
    const code = "HEADGATE_INVALID_OPTION";
    for (const action of [
      () => admin.reset(api, "ann", { why: "" } as object),
      () => admin.reset({ ...api, store: 1 } as never, "ann"),
      () => admin.reset(api, { tenant: "acme" }),
      () => admin.reset(api, "x".repeat(1_001)),
      () => admin.block(api, "ann", "soon" as never),
      () => admin.unsetOverride({ limiter: "api", shadow: true } as never),
      () => (admin.unblock as (...args: unknown[]) => Promise<unknown>)(api, "ann", {}, 1),
    ]) {
      await expect(action()).rejects.toMatchObject({ code });
    }
    await expect(
      admin.reset({ name: "api", limits: gcra({ limit: -1, window: 1 }) }, "ann"),
    ).rejects.toMatchObject({ code: "HEADGATE_INVALID_LIMIT" });
    expect(() => createAdmin(memoryStore())).toThrow(expect.objectContaining({ code }));
    expect(() => createAdmin(redisStore(own.client), { storeTimeout: 0 })).toThrow(
      expect.objectContaining({ code }),
    );
    expect(await own.client.keys("*")).toEqual([]);
  });
});
