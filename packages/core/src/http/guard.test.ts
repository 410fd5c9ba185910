import { describe, expect, test, vi } from "vitest";
import { concurrency } from "../algorithms/concurrency.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import { internalsOf, requireLimiter } from "../limiter/limiter-internals.ts";
import { memoryStore } from "../store/memory-store.ts";
import { requireStore } from "../store/store.ts";
import type { Verdict } from "./apply-verdict.ts";
import type { Client, HttpRequest } from "./client.ts";
import type { Guard } from "./guard.ts";
import { createGuard } from "./guard.ts";
import { createGuardLimiters } from "./guard-limiters.ts";
import type { GuardOptions } from "./guard-options.ts";
import type { GuardAdapter } from "./guard-plan.ts";
import { byHeader, byIp } from "./keys.ts";
import { parseGuardOptions } from "./parse-guard-options.ts";
import { subjectOf } from "./request-decision.ts";
import { byTier, perRequest } from "./request-limits.ts";

interface Request extends HttpRequest {
  readonly plan?: string;
}

const limits = fixedWindow({ limit: 3, window: "1m" });

function guardOf(options: GuardOptions<Request>, warn = vi.fn()): Guard<Request> {
  const settings = parseGuardOptions("rateLimit", options);
  return createGuard(
    "rateLimit",
    createGuardLimiters("rateLimit", settings),
    settings,
    adapterWith(warn),
  );
}

/** An adapter of a framework without routes. */
function adapterWith(warn = vi.fn()): GuardAdapter<Request> {
  return { name: "test", warn, routeOf: () => undefined };
}

function clientAt(address: string | undefined, isDisconnected = false): Client {
  return { address, peer: "10.0.0.1", isDisconnected: () => isDisconnected };
}

const client = clientAt("1.2.3.4");

/** A request of its own. */
function request(headers: Request["headers"] = {}): Request {
  return { ip: "1.2.3.4", headers };
}

function remainingAfter(verdict: Verdict): number {
  if (verdict.kind !== "allowed") throw new Error(verdict.kind);
  return verdict.decision.remaining;
}

describe("the order of the steps", () => {
  test("steps run in the order denyList, allowList, skip, tier, key, cost, decision", async () => {
    const order: string[] = [];
    const limiter = createLimiter({ limits });
    const consume = vi.spyOn(internalsOf(limiter), "consumeGroups").mockImplementation(async () => {
      order.push("decision");
      throw new Error("enough");
    });
    const say = <Value>(step: string, value: Value) =>
      vi.fn(async () => {
        await new Promise((resolve) => setImmediate(resolve));
        order.push(step);
        return value;
      });
    const options = {
      allowList: say("allowList", false),
      denyList: say("denyList", false),
      skip: say("skip", false),
      key: say("key", "user-1"),
      cost: say("cost", 2),
    };
    const limiters = {
      ...createGuardLimiters("rateLimit", parseGuardOptions("rateLimit", { limiter })),
      choose: say("tier", { limiter: requireLimiter(limiter), limits: undefined }),
    };
    const guard = createGuard<Request>(
      "rateLimit",
      limiters,
      parseGuardOptions<Request>("rateLimit", options),
      adapterWith(),
    );
    const one = request();
    await expect(guard.check(one, client)).rejects.toThrow("enough");
    expect(order).toEqual(["denyList", "allowList", "skip", "tier", "key", "cost", "decision"]);
    for (const step of [options.skip, options.cost, limiters.choose]) {
      expect(step.mock.calls).toEqual([[one]]);
    }
    for (const step of [options.key, options.allowList, options.denyList]) {
      expect(step.mock.calls).toEqual([[one, "1.2.3.4"]]);
    }
    const [, subjects, more] = consume.mock.calls[0] ?? [];
    expect({ ...(subjects as object) }).toEqual({ default: "user-1" });
    expect(more).toEqual({ cost: 2 });
  });

  test.each([
    ["allowList", "pass"],
    ["denyList", "refused"],
  ])("a request on %s reads no key and costs nothing", async (list, kind) => {
    const unread = vi.fn(() => undefined as never);
    const one = request();
    const guard = guardOf({ limits, [list]: () => true, skip: unread, key: unread, cost: unread });
    expect((await guard.check(one, client)).kind).toBe(kind);
    expect(unread).not.toHaveBeenCalled();
    expect(subjectOf(one)).toBeUndefined();
  });

  test("a skipped request reads no key, costs nothing and gets no headers", async () => {
    const key = vi.fn(() => "user-1");
    const cost = vi.fn(() => 1);
    const one = request();
    const guard = guardOf({ limits, key, cost, skip: () => true });
    expect(await guard.check(one, client)).toEqual({ kind: "pass" });
    expect(key).not.toHaveBeenCalled();
    expect(cost).not.toHaveBeenCalled();
    expect(subjectOf(one)).toBeUndefined();
  });

  test("a request refused for its key costs nothing", async () => {
    const cost = vi.fn(() => 1);
    const guard = guardOf({ limits, key: () => undefined, missingKey: "reject", cost });
    expect((await guard.check(request(), client)).kind).toBe("refused");
    expect(cost).not.toHaveBeenCalled();
  });
});

describe("the option skip", () => {
  test.each([[false], [undefined]])("a request is counted if skip returns %j", async (answer) => {
    for (const skip of [() => answer, async () => answer]) {
      expect(remainingAfter(await guardOf({ limits, skip }).check(request(), client))).toBe(2);
    }
  });

  test("skip may be asynchronous", async () => {
    const guard = guardOf({ limits, skip: async () => true });
    expect(await guard.check(request(), client)).toEqual({ kind: "pass" });
  });

  test.each([
    ["yes", "a string"],
    [1, "a number"],
    [0, "a number"],
    [null, "null"],
    [{}, "an object"],
    ["", "a string"],
  ])(
    "skip returning %j is an error, so that the request is not unlimited",
    async (answer, kind) => {
      const skip = (() => answer) as unknown as () => boolean;
      await expect(guardOf({ limits, skip }).check(request(), client)).rejects.toMatchObject({
        code: "HEADGATE_INVALID_OPTION",
        message: `rateLimit: skip must return true or false, got ${kind}`,
      });
    },
  );
});

describe("verdicts", () => {
  test("a verdict is allowed until the limit is used up, then denied, with the decision and its headers", async () => {
    const guard = guardOf({ limits });
    const kinds: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      const verdict = await guard.check(request(), client);
      kinds.push(verdict.kind);
      expect("headers" in verdict && verdict.headers.map(([name]) => name)).toContain("RateLimit");
    }
    expect(kinds).toEqual(["allowed", "allowed", "allowed", "denied", "denied"]);
    expect((await guard.check(request(), clientAt("5.6.7.8"))).kind).toBe("allowed");
  });

  test("a verdict has the configured headers", async () => {
    const guard = guardOf({ limits, headers: { standard: false } });
    const verdict = await guard.check(request(), client);
    expect("headers" in verdict && verdict.headers.map(([name]) => name)).toEqual([
      "X-RateLimit-Limit",
      "X-RateLimit-Remaining",
      "X-RateLimit-Reset",
    ]);
  });

  test("X-RateLimit-Reset uses the wall clock", async () => {
    const guard = guardOf({ limits, headers: { standard: false, reset: "epoch" } });
    const before = Date.now();
    const verdict = await guard.check(request(), client);
    const reset = Number("headers" in verdict && verdict.headers.at(-1)?.[1]);
    expect(reset * 1_000).toBeGreaterThanOrEqual(before + 59_000);
    expect(reset * 1_000).toBeLessThanOrEqual(Date.now() + 61_000);
  });

  test("a verdict is pass if every limit was left out because its key is missing", async () => {
    const guard = guardOf({ limits, key: () => undefined, missingKey: "skip" });
    const one = request();
    expect(await guard.check(one, client)).toEqual({ kind: "pass" });
    expect(subjectOf(one)).toBeUndefined();
  });

  test("limits whose key is missing are left out, and global limits still decide", async () => {
    const guard = guardOf({
      limits: [
        fixedWindow({ limit: 9, window: "1m", per: "apiKey" }),
        fixedWindow({ limit: 2, window: "1m", per: "global" }),
      ],
      key: { apiKey: byHeader("x-api-key") },
      missingKey: "skip",
    });
    const verdict = await guard.check(request(), client);
    expect("decision" in verdict && verdict.decision.limits.map(({ per }) => per)).toEqual([
      "global",
    ]);
    await guard.check(request({ "x-api-key": "k" }), client);
    expect((await guard.check(request(), clientAt("5.6.7.8"))).kind).toBe("denied");
  });

  test("limits per global read no key", async () => {
    const guard = guardOf({ limits: fixedWindow({ limit: 1, window: "1m", per: "global" }) });
    expect((await guard.check(request(), clientAt(undefined))).kind).toBe("allowed");
    expect((await guard.check(request(), clientAt(undefined))).kind).toBe("denied");
  });

  test("a verdict is disconnected if the client and its address are gone", async () => {
    const guard = guardOf({ limits });
    const gone = { ...request(), ip: undefined };
    expect(await guard.check(gone, clientAt(undefined, true))).toEqual({ kind: "disconnected" });
  });

  test("a request of a disconnected client is decided if its address is known", async () => {
    expect((await guardOf({ limits }).check(request(), clientAt("1.2.3.4", true))).kind).toBe(
      "allowed",
    );
  });

  test.each(["kind", "headers", "__proto__", "constructor"])(
    "a dimension called %s is not mistaken for a verdict",
    async (dimension) => {
      const guard = guardOf({
        limits: fixedWindow({ limit: 1, window: "1m", per: dimension }),
        key: Object.fromEntries([[dimension, () => "user-1"]]),
      });
      expect((await guard.check(request(), client)).kind).toBe("allowed");
      expect((await guard.check(request(), client)).kind).toBe("denied");
    },
  );
});

describe("one request at several guards", () => {
  test("a limiter mounted twice counts a request once", async () => {
    const limiter = createLimiter({ limits });
    const [first, second] = [guardOf({ limiter }), guardOf({ limiter })];
    const one = request();
    expect(remainingAfter(await first.check(one, client))).toBe(2);
    expect(await second.check(one, client)).toEqual({ kind: "pass" });
    expect(await first.check(one, client)).toEqual({ kind: "pass" });
    expect(remainingAfter(await second.check(request(), client))).toBe(1);
  });

  test("a cost that comes after the request was counted is an error", async () => {
    const limiter = createLimiter({ limits });
    const cost = () => 2;
    const [first, second] = [guardOf({ limiter }), guardOf({ limiter, cost })];
    const one = request();
    expect(remainingAfter(await first.check(one, client))).toBe(2);
    await expect(second.check(one, client)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining("cost would be ignored, because the limiter"),
    });
    // Asked first, it is read; and asked again, it is the same.
    const other = request();
    expect(remainingAfter(await second.check(other, client))).toBe(0);
    expect(await guardOf({ limiter, cost }).check(other, client)).toEqual({ kind: "pass" });
    expect(await first.check(other, client)).toEqual({ kind: "pass" });
  });

  test("a later cost is no error for a dimension that was not counted before", async () => {
    const limiter = createLimiter({
      limits: [
        fixedWindow({ limit: 9, window: "1m", per: "ip", name: "ip" }),
        fixedWindow({ limit: 9, window: "1m", per: "plan", name: "plan" }),
      ],
    });
    const key = { plan: ({ plan }: Request) => plan };
    const early = guardOf({ limiter, key, missingKey: "skip" });
    const late = guardOf({ limiter, key, missingKey: "skip", cost: 5 });
    const one: { plan?: string } & Request = request();
    expect(remainingAfter(await early.check(one, client))).toBe(8);
    expect(await late.check(one, client)).toEqual({ kind: "pass" });
    expect(remainingAfter(await late.check(Object.assign(one, { plan: "ann" }), client))).toBe(4);
    // It was read, of the one dimension: mounted again, it asks nothing.
    expect(await late.check(one, client)).toEqual({ kind: "pass" });
  });

  test("a dimension that an earlier guard left out is counted by a later one", async () => {
    const limiter = createLimiter({ limits: fixedWindow({ limit: 2, window: "1m" }) });
    const key = ({ plan }: Request) => plan;
    const guard = guardOf({ limiter, key, missingKey: "skip" });
    const kinds: string[] = [];
    for (let i = 0; i < 4; i += 1) {
      const one: { plan?: string } & Request = request();
      expect(await guard.check(one, client)).toEqual({ kind: "pass" });
      const known = Object.assign(one, { plan: "ann" });
      kinds.push((await guard.check(known, client)).kind);
    }
    expect(kinds).toEqual(["allowed", "allowed", "denied", "denied"]);
  });

  test("limiters with one name on one store count a request once", async () => {
    const store = requireStore(memoryStore());
    const guards = [1, 2].map(() => guardOf({ name: "api", limits, store }));
    const one = request();
    const kinds = [];
    for (const guard of guards) kinds.push((await guard.check(one, client)).kind);
    expect(kinds).toEqual(["allowed", "pass"]);
  });

  test("a request whose option functions throw costs nothing", async () => {
    const limiter = createLimiter({ limits });
    const one = request();
    const failing = guardOf({ limiter, cost: () => Number.NaN });
    await expect(failing.check(one, client)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_COST",
    });
    expect((await limiter.peek("1.2.3.4", { cost: 3 })).allowed).toBe(true);
  });

  test("a limiter that failed is called again for the same request, and counts it once", async () => {
    const memory = requireStore(memoryStore());
    let fails = true;
    const store: typeof memory = {
      ...memory,
      runSync: undefined,
      run: (...call) => (fails ? Promise.reject(new Error("away")) : memory.run(...call)),
    };
    const base = createLimiter({ name: "base", limits, store });
    const more = fixedWindow({ limit: 2, window: "1s", name: "more" });
    const limiter = createLimiter({ name: "more", limits: more, store, extends: base });
    const [first, second] = [guardOf({ limiter }), guardOf({ limiter })];
    const one = request();
    await expect(first.check(one, client)).rejects.toThrow("away");
    await expect(second.check(one, client)).rejects.toThrow("away");
    expect(subjectOf(one)).toBeUndefined();
    fails = false;
    const verdict = await second.check(one, client);
    expect("decision" in verdict && verdict.decision.limits).toMatchObject([
      { limit: 3, remaining: 2 },
      { limit: 2, remaining: 1 },
    ]);
    expect(await first.check(one, client)).toEqual({ kind: "pass" });
    expect(await guardOf({ limiter: base }).check(one, client)).toEqual({ kind: "pass" });
  });

  test("each limiter shows the headers that its own option selects", async () => {
    const hidden = fixedWindow({ limit: 2, window: "1m", name: "hidden" });
    const shown = fixedWindow({ limit: 9, window: "1m", name: "shown" });
    const quiet = guardOf({ limits: hidden, headers: false });
    const open = guardOf({ limits: shown });
    const one = request();
    expect(await quiet.check(one, client)).toMatchObject({ kind: "allowed", headers: [] });
    const verdict = await open.check(one, client);
    expect(verdict).toMatchObject({ kind: "allowed", decision: { limit: 2, remaining: 1 } });
    const headers = "headers" in verdict ? Object.fromEntries(verdict.headers) : {};
    expect(headers["X-RateLimit-Limit"]).toBe("9");
    expect(headers["RateLimit-Policy"]).toBe('"shown";q=9;w=60');
  });

  test("a request gets the limits of all its limiters, and X-RateLimit of the tightest", async () => {
    const tight = guardOf({ limits: fixedWindow({ limit: 2, window: "1m", name: "tight" }) });
    const wide = guardOf({ limits: fixedWindow({ limit: 9, window: "1m", name: "wide" }) });
    const one = request();
    await tight.check(one, client);
    const verdict = await wide.check(one, client);
    expect(verdict).toMatchObject({ kind: "allowed", decision: { limit: 2, remaining: 1 } });
    expect("headers" in verdict && Object.fromEntries(verdict.headers)["RateLimit"]).toMatch(
      /"tight";r=1;.*"wide";r=8;/,
    );
  });

  test("an extended limiter charges a request once", async () => {
    const store = requireStore(memoryStore());
    const base = createLimiter({ name: "base", limits, store });
    const more = fixedWindow({ limit: 2, window: "1s", name: "more" });
    const extended = createLimiter({ name: "more", limits: more, store, extends: base });
    const one = request();
    await guardOf({ limiter: base }).check(one, client);
    await guardOf({ limiter: extended }).check(one, client);
    expect((await base.peek("1.2.3.4", { cost: 2 })).allowed).toBe(true);
  });

  test("subjectOf finds the subject of a counted request, to reset it", async () => {
    const limiter = createLimiter({ limits });
    const guard = guardOf({ limiter, key: { default: byHeader("x-api-key") } });
    const one = request({ "x-api-key": "k" });
    await guard.check(one, client);
    expect(await limiter.reset(subjectOf(one) ?? "")).toBe(true);
    expect(remainingAfter(await guard.check(request({ "x-api-key": "k" }), client))).toBe(2);
  });
});

describe("errors of a guard", () => {
  const wrong = new Error("wrong");
  const raise = () => {
    throw wrong;
  };
  const rejectLater = async () => {
    await Promise.resolve();
    throw wrong;
  };

  test.each<[string, GuardOptions<Request>]>([
    ["skip throws", { limits, skip: raise }],
    ["skip rejects", { limits, skip: rejectLater }],
    ["a list throws", { limits, allowList: raise }],
    ["a list rejects", { limits, denyList: rejectLater }],
    ["a key throws", { limits, key: raise }],
    ["a key rejects", { limits, key: rejectLater }],
    ["a cost throws", { limits, cost: raise }],
    ["a cost rejects", { limits, cost: rejectLater }],
    ["a tier throws", { limits: byTier({ free: limits }, raise) }],
    ["a tier rejects", { limits: byTier({ free: limits }, rejectLater) }],
  ])("check rejects, and the request does not continue, if %s", async (_, options) => {
    await expect(guardOf(options).check(request(), client)).rejects.toBe(wrong);
  });

  test.each([
    [-1],
    [1.5],
    [Number.NaN],
    [2 ** 53],
    ["2"],
    [null],
    [undefined],
    [{ tokens: 1 }],
    [1n],
    [Number.POSITIVE_INFINITY],
  ])("check rejects if the cost function returns %s", async (cost) => {
    for (const option of [() => cost, async () => cost]) {
      const guard = guardOf({ limits, cost: option as () => number });
      await expect(guard.check(request(), client)).rejects.toMatchObject({
        code: "HEADGATE_INVALID_COST",
      });
    }
  });

  test.each([["platinum"], [undefined], [null], [5], ["__proto__"], ["constructor"], [""]])(
    "check rejects for the unknown tier %j",
    async (tier) => {
      const guard = guardOf({ limits: byTier({ free: limits }, () => tier as "free") });
      await expect(guard.check(request(), client)).rejects.toMatchObject({
        code: "HEADGATE_UNKNOWN_TIER",
        message: "rateLimit: the tier of this request is not one of the configured tiers",
        cause: { tier, tiers: ["free"] },
      });
    },
  );

  test('check rejects with the store\'s error if onUnavailable is "throw"', async () => {
    const store = { ...memoryStore(), runSync: undefined, run: async () => Promise.reject(wrong) };
    const guard = guardOf({ name: "a", limits, store });
    await expect(guard.check(request(), client)).rejects.toBe(wrong);
  });

  test("check rejects after the limiter was closed", async () => {
    const settings = parseGuardOptions<Request>("rateLimit", { limits });
    const limiters = createGuardLimiters("rateLimit", settings);
    const guard = createGuard("rateLimit", limiters, settings, adapterWith());
    await limiters.close();
    await expect(guard.check(request(), client)).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
  });
});

describe("the cost of a request", () => {
  test.each<[string, GuardOptions<Request>["cost"]]>([
    ["a number", 2],
    ["a function", () => 2],
    ["an asynchronous function", async () => 2],
  ])("cost may be %s", async (_, cost) => {
    expect(remainingAfter(await guardOf({ limits, cost }).check(request(), client))).toBe(1);
  });

  test("a cost above the limit is denied without Retry-After", async () => {
    const verdict = await guardOf({ limits, cost: () => 4 }).check(request(), client);
    expect(verdict.kind).toBe("denied");
    expect("headers" in verdict && verdict.headers.map(([name]) => name)).not.toContain(
      "Retry-After",
    );
  });

  test("a fixed cost above the limit is rejected at construction", () => {
    const hourly = fixedWindow({ limit: 100, window: "1h", name: "hourly" });
    const places = concurrency({ limit: 2, ttl: "1m", name: "slots" });
    const refused: GuardOptions<Request>[] = [
      { limits: [hourly, limits], cost: 4 },
      { limits: [hourly, places], cost: { hourly: 101 } },
      { limits: byTier({ free: limits, paid: limits }, () => "free"), cost: 4 },
      { limiter: createLimiter({ limits: hourly }), cost: 101 },
    ];
    for (const options of refused) {
      expect(() => guardOf(options)).toThrow(
        expect.objectContaining({ code: "HEADGATE_COST_ABOVE_LIMIT" }),
      );
    }
    const taken: GuardOptions<Request>[] = [
      { limits: [hourly, places], cost: 100 },
      { limits: byTier({ free: limits, paid: hourly }, () => "free"), cost: 4 },
      { limits: perRequest(limits, () => limits), cost: 4 },
      { limits: fixedWindow({ limit: 0, window: "1h" }), cost: 4 },
    ];
    for (const options of taken) expect(() => guardOf(options)).not.toThrow();
  });

  test("a cost of 0, as a number or by the names of all limits, is allowed and charges nothing", async () => {
    const hourly = fixedWindow({ limit: 1, window: "1h", name: "hourly" });
    let cost: number | { hourly: number } = 1;
    const guard = guardOf({ limits: hourly, cost: () => cost });
    expect((await guard.check(request(), client)).kind).toBe("allowed");
    for (cost of [0, { hourly: 0 }]) {
      const verdict = await guard.check(request(), client);
      expect(verdict).toMatchObject({ kind: "allowed", decision: { cost: 0, remaining: 0 } });
    }
    cost = 1;
    expect((await guard.check(request(), client)).kind).toBe("denied");
  });
});

describe("tiers", () => {
  test("tiers have separate limits and counters", async () => {
    const guard = guardOf({
      limits: byTier(
        {
          free: fixedWindow({ limit: 1, window: "1m" }),
          premium: fixedWindow({ limit: 5, window: "1m" }),
        },
        async (one: Request) => (one.plan === "premium" ? "premium" : "free"),
      ),
    });
    const premium = { ...request(), plan: "premium" };
    expect((await guard.check(request(), client)).kind).toBe("allowed");
    expect((await guard.check(request(), client)).kind).toBe("denied");
    expect(remainingAfter(await guard.check(premium, client))).toBe(4);
  });
});

describe("an untrusted proxy", () => {
  const forwarded = { "x-forwarded-for": "9.9.9.9" };
  const balancer: Client = { address: "10.0.0.1", peer: "10.0.0.1", isDisconnected: () => false };

  test.each<[string, GuardOptions<Request>]>([
    ["addresses are counted by default", { limits }],
    ["a dimension counts addresses", { limits, key: byIp(), missingKey: "skip" }],
    ["addresses stand in for a missing key", { limits, key: byHeader("x-api-key") }],
    ["addresses are on a list", { limits: { ...limits, per: "global" }, denyList: ["1.2.3.4"] }],
  ])("an untrusted proxy is reported once if %s", async (_, options) => {
    const warn = vi.fn();
    const guard = guardOf(options, warn);
    await guard.check(request(forwarded), balancer);
    await guard.check(request(forwarded), balancer);
    expect(warn.mock.calls.map(([code]) => code)).toEqual(["HEADGATE_PROXY_NOT_TRUSTED"]);
  });

  test("an untrusted proxy is reported for a skipped request, too", async () => {
    const warn = vi.fn();
    await guardOf({ limits, skip: () => true }, warn).check(request(forwarded), balancer);
    expect(warn).toHaveBeenCalledOnce();
  });

  test.each<[string, GuardOptions<Request>]>([
    ["a key is required", { limits, key: () => "user-1", missingKey: "reject" }],
    ["limits without a key are left out", { limits, key: () => "user-1", missingKey: "skip" }],
    ["everybody is counted together", { limits: { ...limits, per: "global" } }],
  ])("an untrusted proxy is not reported if no address is counted: %s", async (_, options) => {
    const warn = vi.fn();
    await guardOf(options, warn).check(request(forwarded), balancer);
    expect(warn).not.toHaveBeenCalled();
  });
});
