import { describe, expect, test } from "vitest";
import type { HeldStore } from "../../../../test/support/held-store.ts";
import {
  CROSS_SLOT,
  carryOutAll,
  flushMicrotasks,
  holdStore,
  resultOf,
} from "../../../../test/support/held-store.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import type { Decision } from "../common/decision.ts";
import { HeadgateError } from "../common/errors.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { Limiter } from "../limiter/limiter.ts";
import type { CountingStore } from "../store/store.ts";

/** Each dimension is a slot of its own. */
const startCluster = (): HeldStore => holdStore((key) => (key.includes(":tenant:") ? 1 : 2));

const limits = [
  fixedWindow({ limit: 2, window: "1h", name: "user" }),
  fixedWindow({ limit: 1, window: "1h", name: "tenant", per: "tenant" }),
];
const subject = { default: "u", tenant: "t" };

type Open = Limiter<"default" | "tenant">;

function open(store: CountingStore): Open {
  return createLimiter({ name: "api", limits, store, storeTimeout: "1m", denyCache: false });
}

/** Every order in which the calls of some deciders can be carried out. `choices` says which of those held is next. */
async function eachOrder(
  run: (choose: (count: number) => number) => Promise<void>,
): Promise<number> {
  const path: number[] = [];
  const counts: number[] = [];
  for (let runs = 1; ; runs += 1) {
    let at = 0;
    await run((count) => {
      if (at === path.length) path.push(0);
      counts[at] = count;
      const chosen = path[at] as number;
      at += 1;
      return chosen;
    });
    path.length = at;
    while (path.length > 0 && (path.at(-1) as number) + 1 >= (counts[path.length - 1] as number)) {
      path.pop();
    }
    if (path.length === 0) return runs;
    path[path.length - 1] = (path.at(-1) as number) + 1;
  }
}

describe("a decision across two hash slots", () => {
  test("a cross-slot decision checks both hash slots, then charges both, and reports every limit", async () => {
    const { store, held } = startCluster();
    const limiter = open(store);
    const asked = limiter.consume(subject);
    await flushMicrotasks();
    expect(held).toHaveLength(2);
    const decision = await resultOf(held, asked);
    expect(decision).toMatchObject({ allowed: true, source: "store", degraded: false });
    expect(decision.limits.map(({ remaining }) => remaining)).toEqual([1, 0]);
  });

  test("a denied cross-slot decision reports every limit and charges none", async () => {
    const { store, held } = startCluster();
    const limiter = open(store);
    await resultOf(held, limiter.consume(subject));
    const denied = await resultOf(held, limiter.consume(subject));
    expect(denied.allowed).toBe(false);
    expect(denied.limits.map(({ name, allowed, remaining }) => [name, allowed, remaining])).toEqual(
      [
        ["user", true, 1],
        ["tenant", false, 0],
      ],
    );
    const peeked = await resultOf(held, limiter.peek({ default: "u", tenant: "other" }));
    expect(peeked.limits.map(({ remaining }) => remaining)).toEqual([0, 0]);
  });

  test("peek, refund and reset work on both hash slots of a cross-slot decision", async () => {
    const { store, held } = startCluster();
    const limiter = open(store);
    const peeked = await resultOf(held, limiter.peek(subject));
    const taken = await resultOf(held, limiter.consume(subject));
    expect(taken.limits).toEqual(peeked.limits);
    expect(await resultOf(held, limiter.refund(taken))).toBe(true);
    expect(await resultOf(held, limiter.refund(taken))).toBe(false);
    expect((await resultOf(held, limiter.peek(subject))).limits).toEqual(peeked.limits);
    await resultOf(held, limiter.consume(subject));
    expect(await resultOf(held, limiter.reset(subject))).toBe(true);
    expect((await resultOf(held, limiter.peek(subject))).limits).toEqual(peeked.limits);
  });

  describe("a cross-slot decision with a limit that blocks", () => {
    const guarded = [
      fixedWindow({ limit: 2, window: "1h", name: "user" }),
      fixedWindow({ limit: 1, window: "1h", name: "tenant", per: "tenant", block: "1d" }),
    ];
    const day = 86_400_000;

    function openGuarded(store: CountingStore): Open {
      return createLimiter({
        name: "api",
        limits: guarded,
        store,
        storeTimeout: "1m",
        denyCache: false,
      });
    }

    test("a denied cross-slot decision sets the block with a second call to the hash slot that denied", async () => {
      const { store, held } = startCluster();
      const limiter = openGuarded(store);
      await resultOf(held, limiter.consume(subject));
      const asked = limiter.consume(subject);
      await flushMicrotasks();
      expect(held.map(({ name }) => name)).toEqual(["peek", "peek"]);
      await held.shift()?.carryOut();
      await held.shift()?.carryOut();
      expect(held.map(({ name }) => name)).toEqual(["decide"]);
      const denied = await resultOf(held, asked);
      expect(denied).toMatchObject({ allowed: false, blocked: true, retryAfterMs: day });
      expect(
        denied.limits.map(({ name, allowed, remaining }) => [name, allowed, remaining]),
      ).toEqual([
        ["user", true, 1],
        ["tenant", false, 0],
      ]);
      // Who is blocked already needs no second call.
      const again = limiter.consume(subject);
      await flushMicrotasks();
      await held.shift()?.carryOut();
      await held.shift()?.carryOut();
      expect(held).toEqual([]);
      expect(await again).toMatchObject({ blocked: true, retryAfterMs: day });
    });

    test("a cross-slot denial stands if the call that sets its block fails or finds units left, and those stay uncharged", async () => {
      const { store, held } = startCluster();
      const limiter = openGuarded(store);
      const taken = await resultOf(held, limiter.consume(subject));
      const failed = limiter.consume(subject);
      await flushMicrotasks();
      await held.shift()?.carryOut();
      await held.shift()?.carryOut();
      await held.shift()?.refuse(new Error("gone"));
      expect(await failed).toMatchObject({ allowed: false, blocked: false, degraded: false });
      const late = limiter.consume(subject);
      await flushMicrotasks();
      await held.shift()?.carryOut();
      await held.shift()?.carryOut();
      const blocking = held.shift();
      expect(await resultOf(held, limiter.refund(taken))).toBe(true);
      await blocking?.carryOut();
      expect(await resultOf(held, late)).toMatchObject({ allowed: false, blocked: false });
      expect(await resultOf(held, limiter.peek(subject, { cost: 0 }))).toMatchObject({
        limits: [{ remaining: 2 }, { remaining: 1 }],
      });
    });

    test.each(["peek", "wait"] as const)("%s across hash slots sets no block", async (method) => {
      const { store, held } = startCluster();
      const limiter = openGuarded(store);
      await resultOf(held, limiter.consume(subject));
      const asked = limiter[method](subject).catch(() => {});
      await flushMicrotasks();
      await carryOutAll(held);
      await limiter.close();
      await asked;
      const looked = await resultOf(held, openGuarded(store).peek(subject));
      expect(looked).toMatchObject({ allowed: false, blocked: false });
    });

    test("a denial in the charging round of a cross-slot decision sets its block, and the other hash slot is refunded", async () => {
      const { store, held } = startCluster();
      const limiter = openGuarded(store);
      const asked = [limiter.consume(subject), limiter.consume(subject)];
      // All look before any is charged.
      await flushMicrotasks();
      for (let looks = 4; looks > 0; looks -= 1) await held.shift()?.carryOut();
      await flushMicrotasks();
      await carryOutAll(held);
      await flushMicrotasks();
      await carryOutAll(held);
      const decisions = await Promise.all(asked);
      expect(decisions.map(({ allowed, blocked }) => [allowed, blocked])).toEqual([
        [true, false],
        [false, true],
      ]);
      const looked = await resultOf(held, limiter.peek({ default: "u", tenant: "other" }));
      expect(looked.limits[0]).toMatchObject({ name: "user", remaining: 0 });
    });

    test("block and unblock apply to both hash slots", async () => {
      const { store, held } = startCluster();
      const limiter = openGuarded(store);
      await resultOf(held, limiter.block(subject, "1h"));
      const { limits: blocked } = await resultOf(held, limiter.consume(subject));
      expect(blocked.map(({ allowed }) => allowed)).toEqual([false, false]);
      expect(await resultOf(held, limiter.unblock({ tenant: "t" }))).toBe(true);
      expect(await resultOf(held, limiter.consume(subject))).toMatchObject({ blocked: true });
      expect(await resultOf(held, limiter.unblock(subject))).toBe(true);
      expect(await resultOf(held, limiter.consume(subject))).toMatchObject({ allowed: true });
    });
  });

  describe("concurrent cross-slot decisions with units left for one", () => {
    const tight = [
      fixedWindow({ limit: 1, window: "1h", name: "user" }),
      fixedWindow({ limit: 1, window: "1h", name: "tenant", per: "tenant" }),
    ];

    /** Lets some deciders ask, their calls carried out in an order of the test's. Resolves with how many were admitted. */
    async function race(deciders: number, choose: (count: number) => number): Promise<number> {
      const { store, held } = startCluster();
      const options = { name: "api", limits: tight, store, denyCache: false } as const;
      const limiter = createLimiter({ ...options, storeTimeout: "1m" });
      const asked = Array.from({ length: deciders }, () => limiter.consume(subject));
      await flushMicrotasks();
      while (held.length > 0) await held.splice(choose(held.length), 1)[0]?.carryOut();
      const decisions = await Promise.all(asked);
      for (const { degraded, limits: reported } of decisions) {
        expect(degraded).toBe(false);
        expect(reported).toHaveLength(2);
      }
      const admitted = decisions.filter((decision: Decision) => decision.allowed).length;
      expect(admitted).toBeLessThanOrEqual(1);
      // What is left of each is what was not admitted: nothing of a denial.
      for (const other of [
        { default: "u", tenant: "other" },
        { default: "other", tenant: "t" },
      ]) {
        const left = await resultOf(held, limiter.peek(other));
        expect(left.allowed).toBe(admitted === 0);
      }
      await limiter.close();
      return admitted;
    }

    test("two concurrent cross-slot decisions admit at most one, and a denial charges nothing, in every order of their calls", async () => {
      const seen = new Set<number>();
      const runs = await eachOrder(async (choose) => {
        seen.add(await race(2, choose));
      });
      expect(runs).toBe(1_560);
      // Each may have taken what the other one lacks: then both give back.
      expect([...seen].sort()).toEqual([0, 1]);
    }, 60_000);

    test("four concurrent cross-slot decisions admit at most one, and a denial charges nothing, in 300 random orders of their calls", async () => {
      let state = 20_261_120;
      for (let run = 0; run < 300; run += 1) {
        await race(4, (count) => {
          // Numerical Recipes' linear congruential generator: its high bits will do.
          state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
          return Math.floor((state / 2 ** 32) * count);
        });
      }
    }, 30_000);
  });

  describe("settling a cross-slot decision at its charge", () => {
    const unavailable = new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "away");

    function openKeeping(store: CountingStore): Open {
      const blocking = limits.map((limit) => ({ ...limit, limit: 1, block: "1m" as const }));
      const options = { limits: blocking, store, storeTimeout: "1m", denyCache: false } as const;
      return createLimiter({ name: "api", ...options, blockOn: "settle" });
    }

    test("settling a cross-slot decision confirms its charge and sets blocks in each hash slot", async () => {
      const { store, held, advance } = startCluster();
      const limiter = openKeeping(store);
      const decision = await resultOf(held, limiter.consume(subject));
      const settled = limiter.settle(decision, 1);
      await flushMicrotasks();
      expect(held.map(({ name }) => name)).toEqual(["confirm", "confirm"]);
      await carryOutAll(held);
      expect(await settled).toEqual({ charged: 1, overflow: 0, degraded: false });
      for (const one of [
        { default: "u", tenant: "another" },
        { default: "another", tenant: "t" },
      ]) {
        const denied = await resultOf(held, limiter.consume(one));
        expect(denied).toMatchObject({ blocked: true, retryAfterMs: 60_000 });
      }
      advance(60_000);
      expect(await resultOf(held, limiter.peek(subject))).toMatchObject({ allowed: true });
    });

    test("settling a cross-slot decision reports degraded if one hash slot did not get the confirmation", async () => {
      const { store, held } = startCluster();
      const limiter = openKeeping(store);
      const decision = await resultOf(held, limiter.consume(subject));
      const settled = limiter.settle(decision, 1);
      await flushMicrotasks();
      await held.shift()?.refuse(unavailable);
      await carryOutAll(held);
      expect(await settled).toEqual({ charged: 1, overflow: 0, degraded: true });
      const denied = await resultOf(held, limiter.peek({ default: null, tenant: "t" }));
      expect(denied).toMatchObject({ blocked: true, retryAfterMs: 60_000 });
    });

    test("settling confirms a charge in each hash slot if the call is refused with CROSSSLOT", async () => {
      let isKnown = false;
      const { store, held } = holdStore((key) => (isKnown && key.includes(":tenant:") ? 1 : 2));
      const limiter = openKeeping(store);
      const decision = await resultOf(held, limiter.consume(subject));
      const settled = limiter.settle(decision, 1);
      await flushMicrotasks();
      isKnown = true;
      await held.shift()?.refuse(CROSS_SLOT);
      expect(held.map(({ name }) => name)).toEqual(["confirm", "confirm"]);
      await carryOutAll(held);
      expect(await settled).toEqual({ charged: 1, overflow: 0, degraded: false });
      const denied = await resultOf(held, limiter.peek(subject));
      expect(denied.limits.map(({ retryAfterMs }) => retryAfterMs)).toEqual([60_000, 60_000]);
    });
  });

  test("a cross-slot denial costs only the units that drained while it held its charge", async () => {
    const { store, held, advance } = startCluster();
    const drains = [
      gcra({ limit: 60, window: "1m", name: "user" }),
      fixedWindow({ limit: 1, window: "1h", name: "tenant", per: "tenant" }),
    ];
    const options = { limits: drains, store, storeTimeout: "1m", denyCache: false } as const;
    const one = createLimiter({ ...options, name: "api" });
    const two = createLimiter({ ...options, name: "api" });
    const first = one.consume(subject, { cost: 1 });
    const second = two.consume(subject, { cost: 1 });
    await flushMicrotasks();
    // Both look; the second takes the tenant, then the first takes its user and is denied.
    const looks = held.splice(0);
    for (const look of looks) await look.carryOut();
    const [firstUser, firstTenant, secondUser, secondTenant] = held.splice(0);
    await secondUser?.carryOut();
    await secondTenant?.carryOut();
    await firstUser?.carryOut();
    advance(500);
    await firstTenant?.carryOut();
    await carryOutAll(held);
    expect((await second).allowed).toBe(true);
    expect((await first).allowed).toBe(false);
    const left = await resultOf(held, one.peek({ default: "u", tenant: "other" }));
    // This look and the one admitted; half a unit has drained, which is what the denied one leaves.
    expect(left.limits[0]).toMatchObject({ remaining: 58, resetAfterMs: 2_000 });
  });
});
