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

describe("limiters of the option limits", () => {
  test("fixed limits create one limiter for all requests", async () => {
    const { single, all, tiers, choose } = make({ name: "api", limits });
    expect(single?.name).toBe("api");
    expect(all).toEqual([single]);
    expect(tiers.size).toBe(0);
    expect(choose).toBeUndefined();
  });

  test("limits without a name have counters of their own", async () => {
    const [one, other] = [make({ limits }), make({ limits })];
    await one.single?.consume("x");
    expect((await other.single?.peek("x", { cost: 2 }))?.allowed).toBe(true);
  });

  test("limits on a store require a name", () => {
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
  ])("requests wait in a queue of at most maxQueue: %s", async (_, made) => {
    const limiter = made() as Limiter;
    await limiter.consume("x", { cost: 2 });
    const first = limiter.wait("x");
    await expect(limiter.wait("x")).rejects.toMatchObject({ code: "HEADGATE_QUEUE_FULL" });
    await limiter.close();
    await expect(first).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
  });

  test("limits or a limiter is required", () => {
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
  ])("invalid limits are rejected at construction: %j", (wrong) => {
    expect(errorOf({ limits: wrong }).code).toBe("HEADGATE_INVALID_LIMIT");
  });

  test("a name cannot be used with two policies on one store until the first limiter is closed", async () => {
    const store = memoryStore();
    const first = make({ name: "api", limits, store });
    expect(errorOf({ name: "api", limits: more, store }).code).toBe("HEADGATE_DUPLICATE_NAME");
    await first.close();
    expect(make({ name: "api", limits: more, store }).single?.name).toBe("api");
  });

  test("limits that extend another limiter are decided together with it", async () => {
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

describe("the option limiter", () => {
  test("a limiter that was passed in replaces limits, and closing the guard leaves it open", async () => {
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
  ])("limiter cannot be combined with %s", (option, value) => {
    expect(errorOf({ limiter: createLimiter({ limits }), [option]: value })).toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringMatching(
        new RegExp(`limiter replaces limits .* got ${option} as well`),
      ),
    });
  });

  test.each([[{}], [null], ["api"], [{ consume: () => {} }], [() => {}]])(
    "limiter rejects %j",
    (limiter) => {
      expect(errorOf({ limiter }).code).toBe("HEADGATE_INVALID_OPTION");
    },
  );
});

describe("limiters of tiers", () => {
  const tiers = byTier(
    { free: limits, premium: more },
    (request: { plan: string }) => request.plan as "free" | "premium",
  );

  test("every tier has a limiter named after it, and all share one store", async () => {
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

  test("tiers use the given store", async () => {
    const store = memoryStore();
    const [one, other] = [1, 2].map(() => make({ name: "api", limits: tiers, store }));
    await one?.tiers.get("free")?.consume("x", { cost: 2 });
    expect((await other?.tiers.get("free")?.consume("x"))?.allowed).toBe(false);
  });

  test("tiers with the same limits count separately", async () => {
    const same = byTier({ a: limits, b: limits }, () => "a");
    const made = make({ limits: same });
    await made.tiers.get("a")?.consume("x");
    expect((await made.tiers.get("b")?.peek("x", { cost: 2 }))?.allowed).toBe(true);
  });

  test("a tier may be called like a property of Object.prototype", async () => {
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

  test("an unknown tier is named in the cause of the error, but not in its message", async () => {
    const { of } = make({ limits: tiers });
    await expect(of({ plan: "gold" })).rejects.toMatchObject({
      code: "HEADGATE_UNKNOWN_TIER",
      message: "rateLimit: the tier of this request is not one of the configured tiers",
      cause: { tier: "gold", tiers: ["free", "premium"] },
    });
  });

  test("closing the guard closes all tiers and frees their names", async () => {
    const store = memoryStore();
    const made = make({ name: "api", limits: tiers, store });
    await made.close();
    await expect(made.tiers.get("premium")?.consume("x")).rejects.toMatchObject({
      code: "HEADGATE_CLOSED",
    });
    const swapped = byTier({ free: more, premium: limits }, () => "free");
    expect(make({ name: "api", limits: swapped, store }).all).toHaveLength(2);
  });

  test("an invalid tier leaves no name in use", () => {
    const store = memoryStore();
    const wrong = { ...limits, limit: -1 };
    const broken = byTier({ free: limits, premium: wrong }, () => "free");
    expect(errorOf({ name: "api", limits: broken, store }).code).toBe("HEADGATE_INVALID_LIMIT");
    const right = byTier({ free: more, premium: more }, () => "free");
    expect(make({ name: "api", limits: right, store }).all).toHaveLength(2);
  });

  test("every tier needs limits, or null", () => {
    const broken = byTier({ free: [] }, () => "free");
    expect(errorOf({ limits: broken }).code).toBe("HEADGATE_INVALID_LIMIT");
  });

  test("a tier without limits calls no limiter", async () => {
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

  test("with extend, a tier without limits calls only the extended limiter", async () => {
    const base = createLimiter({ limits: more });
    const policy = byTier({ free: limits, staff: null }, (plan: string) => plan as "free");
    const options = { name: "api", limits: policy, store: internalsOf(base).policy.store };
    const made = make(options, base);
    expect((await made.of("staff"))?.limiter).toBe(base);
    expect(made.all).toEqual([made.tiers.get("free"), base]);
    await made.close();
    expect((await base.consume("x")).allowed).toBe(true);
  });

  test("byTier requires a function that selects the tier", () => {
    expect(errorOf({ limits: { tiers: { free: limits } } }).code).toMatch(/^HEADGATE_INVALID_/);
  });
});

describe("limiters of perRequest", () => {
  const five = fixedWindow({ limit: 5, window: "1m" });
  const policy = perRequest(limits, (given: unknown) => given as typeof five);

  test("perRequest creates one limiter from its base, and passes the request's limits to it", async () => {
    const made = make({ name: "api", limits: policy });
    expect(made).toMatchObject({ all: [made.single] });
    expect(made.single?.limits).toMatchObject([{ name: "2-per-1m", limit: 2 }]);
    expect(await made.of(five)).toEqual({ limiter: made.single, limits: five });
    expect(await made.of(Promise.resolve(five))).toEqual({ limiter: made.single, limits: five });
    expect(await made.of(null)).toBeNull();
    expect(await made.of(Promise.resolve(null))).toBeNull();
  });

  test.each([undefined, "2-per-1m", 5, true, () => five])(
    "perRequest rejects limits that are %j",
    async (returned) => {
      const { of, choose } = make({ limits: policy });
      const refused = {
        code: "HEADGATE_INVALID_LIMIT",
        message: expect.stringMatching(/^rateLimit: the function of perRequest must return limits/),
      };
      expect(() => choose?.(returned)).toThrow(expect.objectContaining(refused));
      await expect(of(Promise.resolve(returned))).rejects.toMatchObject(refused);
    },
  );

  test("two guards with the same name and base share one limiter, whatever their functions", async () => {
    const store = memoryStore();
    const other = perRequest(fixedWindow({ limit: 2, window: "60s" }), () => null);
    const [one, two] = [policy, other].map((limits) => make({ name: "api", limits, store }));
    await one?.single?.consume("x", { cost: 2 });
    expect((await two?.single?.consume("x"))?.allowed).toBe(false);
    expect(errorOf({ name: "api", limits: perRequest(five, () => null), store }).code).toBe(
      "HEADGATE_DUPLICATE_NAME",
    );
  });

  test("perRequest cannot be used with lease, and leaves no name in use", () => {
    const store = memoryStore();
    const lease = { max: 10, ttl: "1s" };
    expect(errorOf({ name: "api", limits: policy, store, lease })).toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining("perRequest"),
    });
    expect(make({ name: "api", limits: more, store }).single).toBeDefined();
  });

  test("with extend, a request without limits calls only the extended limiter", async () => {
    const base = createLimiter({ limits: more });
    const options = { name: "own", limits: policy, store: internalsOf(base).policy.store };
    const made = make(options, base);
    expect(await made.of(null)).toEqual({ limiter: base, limits: undefined });
    expect(made.all).toEqual([made.single, base]);
  });
});
