import { describe, expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import type { HeadgateError } from "../common/errors.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { internalsOf } from "../limiter/limiter-internals.ts";
import { memoryStore } from "../store/memory-store.ts";
import { createGuardLimiters } from "./guard-limiters.ts";
import type { GuardOptions } from "./guard-options.ts";
import { parseGuardOptions } from "./parse-guard-options.ts";
import { byTier, perRequest } from "./request-limits.ts";

const limits = fixedWindow({ limit: 2, window: "1m" });
const more = fixedWindow({ limit: 5, window: "1h" });

function make(options: object, base?: Limiter) {
  const settings = parseGuardOptions("rateLimit", options as GuardOptions<unknown>);
  const limiters = createGuardLimiters("rateLimit", settings, base);
  return { ...limiters, of: async (request: unknown) => limiters.choose?.(request) };
}

function errorOf(options: object): HeadgateError {
  try {
    make(options);
  } catch (error) {
    return error as HeadgateError;
  }
  throw new Error("nothing was thrown");
}

describe("limits", () => {
  test("make one limiter, for every request the same", async () => {
    const { single, all, tiers, choose } = make({ name: "api", limits });
    expect(single?.name).toBe("api");
    expect(all).toEqual([single]);
    expect(tiers.size).toBe(0);
    expect(choose).toBeUndefined();
  });

  test("without a name count in this process, apart from all others", async () => {
    const [one, other] = [make({ limits }), make({ limits })];
    await one.single?.consume("x");
    expect((await other.single?.peek("x", { cost: 2 }))?.allowed).toBe(true);
  });

  test("on a store need a name, which names their counters", () => {
    expect(errorOf({ limits, store: memoryStore() })).toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining("name"),
    });
    const tiers = byTier({ free: limits }, () => "free");
    expect(errorOf({ limits: tiers, store: memoryStore() })).toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining("name"),
    });
  });

  test.each([
    ["alone", () => make({ limits, maxQueue: 1 }).single],
    [
      "in tiers",
      () => make({ limits: byTier({ free: limits }, () => "free"), maxQueue: 1 }).all[0],
    ],
  ])("wait in lines of maxQueue at most: %s", async (_, made) => {
    const limiter = made() as Limiter;
    await limiter.consume("x", { cost: 2 });
    const first = limiter.wait("x");
    await expect(limiter.wait("x")).rejects.toMatchObject({ code: "HEADGATE_QUEUE_FULL" });
    await limiter.close();
    await expect(first).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
  });

  test("or a limiter are required", () => {
    expect(errorOf({})).toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: "rateLimit: limits or a limiter is required",
    });
  });

  test.each([
    [[]],
    [null],
    [5],
    ["100/m"],
    [{}],
    [{ algorithm: "leaky", limit: 1, window: 1 }],
    [{ algorithm: "gcra", limit: -1, window: "1m" }],
    [{ algorithm: "gcra", limit: 1, window: "1 fortnight" }],
    [{ algorithm: "gcra", max: 1, window: "1m" }],
    [[limits, limits]],
  ])("%j are refused at construction", (wrong) => {
    expect(errorOf({ limits: wrong }).code).toBe("HEADGATE_INVALID_LIMIT");
  });

  test("of one name and another policy on a store are refused until the first are closed", async () => {
    const store = memoryStore();
    const first = make({ name: "api", limits, store });
    expect(errorOf({ name: "api", limits: more, store }).code).toBe("HEADGATE_DUPLICATE_NAME");
    await first.close();
    expect(make({ name: "api", limits: more, store }).single?.name).toBe("api");
  });

  test("extend another limiter's, and are decided with them", async () => {
    const store = memoryStore();
    const base = createLimiter({ name: "base", limits, store });
    const options: GuardOptions<unknown> = { name: "route", limits: more, store };
    const { single } = make(options, base);
    for (const name of ["base", "own"])
      expect((await single?.consume("x"))?.allowed, name).toBe(true);
    expect((await single?.consume("x"))?.allowed).toBe(false);
    expect((await base.peek("x")).allowed).toBe(false);
  });
});

describe("a limiter", () => {
  test("stands in place of limits, and is not closed with what was made here", async () => {
    const limiter = createLimiter({ limits });
    const { single, all, choose, close } = make({ limiter });
    expect([single, ...all, choose]).toEqual([limiter, limiter, undefined]);
    await close();
    expect((await limiter.consume("x")).allowed).toBe(true);
  });

  test.each([
    ["limits", limits],
    ["store", memoryStore()],
    ["name", "api"],
  ])("does not go with %s", (option, value) => {
    expect(errorOf({ limiter: createLimiter({ limits }), [option]: value })).toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringMatching(
        new RegExp(`limiter replaces limits .* got ${option} as well`),
      ),
    });
  });

  test.each([[{}], [null], ["api"], [{ consume: () => {} }], [() => {}]])(
    "is none of %j",
    (limiter) => {
      expect(errorOf({ limiter }).code).toBe("HEADGATE_INVALID_OPTION");
    },
  );
});

describe("tiers", () => {
  const tiers = byTier(
    { free: limits, premium: more },
    (request: { plan: string }) => request.plan as "free" | "premium",
  );

  test("make a limiter each, on one store, named after the tier", async () => {
    const made = make({ name: "api", limits: tiers });
    expect(made.single).toBeUndefined();
    expect([...made.tiers.keys()]).toEqual(["free", "premium"]);
    expect(made.all.map(({ name }) => name)).toEqual(["api (free)", "api (premium)"]);
    const free = (await made.of({ plan: "free" }))?.limiter;
    expect(free).toBe(made.tiers.get("free"));
    expect((await made.of({ plan: "premium" }))?.limiter).toBe(made.tiers.get("premium"));
    await free?.consume("x", { cost: 2 });
    expect((await made.tiers.get("premium")?.peek("x", { cost: 5 }))?.allowed).toBe(true);
  });

  test("count on the store that is given", async () => {
    const store = memoryStore();
    const [one, other] = [1, 2].map(() => make({ name: "api", limits: tiers, store }));
    await one?.tiers.get("free")?.consume("x", { cost: 2 });
    expect((await other?.tiers.get("free")?.consume("x"))?.allowed).toBe(false);
  });

  test("that share limits still count apart", async () => {
    const same = byTier({ a: limits, b: limits }, () => "a");
    const made = make({ limits: same });
    await made.tiers.get("a")?.consume("x");
    expect((await made.tiers.get("b")?.peek("x", { cost: 2 }))?.allowed).toBe(true);
  });

  test("may have any name, those of Object.prototype too", async () => {
    const odd = JSON.parse('{ "__proto__": null, "constructor": null }');
    for (const name of Object.keys(odd)) {
      Object.defineProperty(odd, name, { value: limits, enumerable: true });
    }
    const made = make({ limits: byTier(odd, (request: { plan: string }) => request.plan) });
    expect((await made.of({ plan: "__proto__" }))?.limiter.name).toContain("__proto__");
    await expect(made.of({ plan: "toString" })).rejects.toMatchObject({
      code: "HEADGATE_UNKNOWN_TIER",
    });
  });

  test("that do not exist are named to the application, not in the message", async () => {
    const { of } = make({ limits: tiers });
    await expect(of({ plan: "gold" })).rejects.toMatchObject({
      code: "HEADGATE_UNKNOWN_TIER",
      message: "rateLimit: the tier of this request is not one of the configured tiers",
      cause: { tier: "gold", tiers: ["free", "premium"] },
    });
  });

  test("are all closed together, and their names are free", async () => {
    const store = memoryStore();
    const made = make({ name: "api", limits: tiers, store });
    await made.close();
    await expect(made.tiers.get("premium")?.consume("x")).rejects.toMatchObject({
      code: "HEADGATE_CLOSED",
    });
    const swapped = byTier({ free: more, premium: limits }, () => "free");
    expect(make({ name: "api", limits: swapped, store }).all).toHaveLength(2);
  });

  test("of which one is wrong leave no name behind", () => {
    const store = memoryStore();
    const wrong = { ...limits, limit: -1 };
    const broken = byTier({ free: limits, premium: wrong }, () => "free");
    expect(errorOf({ name: "api", limits: broken, store }).code).toBe("HEADGATE_INVALID_LIMIT");
    const right = byTier({ free: more, premium: more }, () => "free");
    expect(make({ name: "api", limits: right, store }).all).toHaveLength(2);
  });

  test("need limits each", () => {
    const broken = byTier({ free: [] }, () => "free");
    expect(errorOf({ limits: broken }).code).toBe("HEADGATE_INVALID_LIMIT");
  });

  test("may be without limits, and then nobody is asked", async () => {
    const made = make({
      limits: byTier({ free: limits, staff: null }, (plan: string) => plan as "free"),
    });
    expect([...made.tiers.keys()]).toEqual(["free"]);
    expect(made.all).toHaveLength(1);
    expect(await made.of("staff")).toBeNull();
    await expect(made.of("gold")).rejects.toMatchObject({
      cause: { tier: "gold", tiers: ["free", "staff"] },
    });
    const error = errorOf({
      limits: { tiers: { free: undefined, staff: null }, select: () => "" },
    });
    expect(error.code).toBe("HEADGATE_INVALID_LIMIT");
  });

  test("without limits leave those that are decided together with the others'", async () => {
    const base = createLimiter({ limits: more });
    const policy = byTier({ free: limits, staff: null }, (plan: string) => plan as "free");
    const options = { name: "api", limits: policy, store: internalsOf(base).policy.store };
    const made = make(options, base);
    expect((await made.of("staff"))?.limiter).toBe(base);
    expect(made.all).toEqual([made.tiers.get("free"), base]);
    await made.close();
    expect((await base.consume("x")).allowed).toBe(true);
  });

  test("without a function to choose by are refused at construction", () => {
    expect(errorOf({ limits: { tiers: { free: limits } } }).code).toMatch(/^HEADGATE_INVALID_/);
  });
});

describe("limits of a request", () => {
  const five = fixedWindow({ limit: 5, window: "1m" });
  const policy = perRequest(limits, (given: unknown) => given as typeof five);

  test("make one limiter, of their base, and are handed on with it", async () => {
    const made = make({ name: "api", limits: policy });
    expect(made).toMatchObject({ all: [made.single] });
    expect(made.single?.limits).toMatchObject([{ name: "2-per-1m", limit: 2 }]);
    expect(await made.of(five)).toEqual({ limiter: made.single, limits: five });
    expect(await made.of(Promise.resolve(five))).toEqual({ limiter: made.single, limits: five });
    expect(await made.of(null)).toBeNull();
    expect(await made.of(Promise.resolve(null))).toBeNull();
  });

  test.each([undefined, "2-per-1m", 5, true, () => five])("are none of %j", async (returned) => {
    const { of, choose } = make({ limits: policy });
    const refused = {
      code: "HEADGATE_INVALID_LIMIT",
      message: expect.stringMatching(/^rateLimit: the function of perRequest must return limits/),
    };
    expect(() => choose?.(returned)).toThrow(expect.objectContaining(refused));
    await expect(of(Promise.resolve(returned))).rejects.toMatchObject(refused);
  });

  test("of one name and base are one limiter, whichever the function", async () => {
    const store = memoryStore();
    const other = perRequest(fixedWindow({ limit: 2, window: "60s" }), () => null);
    const [one, two] = [policy, other].map((limits) => make({ name: "api", limits, store }));
    await one?.single?.consume("x", { cost: 2 });
    expect((await two?.single?.consume("x"))?.allowed).toBe(false);
    expect(errorOf({ name: "api", limits: perRequest(five, () => null), store }).code).toBe(
      "HEADGATE_DUPLICATE_NAME",
    );
  });

  test("are not for leases, and leave no name behind", () => {
    const store = memoryStore();
    const lease = { max: 10, ttl: "1s" };
    expect(errorOf({ name: "api", limits: policy, store, lease })).toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining("perRequest"),
    });
    expect(make({ name: "api", limits: more, store }).single).toBeDefined();
  });

  test("that are null leave those that are decided together with the base", async () => {
    const base = createLimiter({ limits: more });
    const options = { name: "own", limits: policy, store: internalsOf(base).policy.store };
    const made = make(options, base);
    expect(await made.of(null)).toEqual({ limiter: base, limits: undefined });
    expect(made.all).toEqual([made.single, base]);
  });
});
