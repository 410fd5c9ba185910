import { afterEach, describe, expect, test, vi } from "vitest";
import {
  CROSS_SLOT,
  flushMicrotasks,
  holdStore,
  resultOf,
} from "../../../../test/support/held-store.ts";
import { concurrency } from "../algorithms/concurrency.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import type { CostByName } from "../common/cost.ts";
import type { Decision } from "../common/decision.ts";
import { HeadgateError } from "../common/errors.ts";
import type { Policy } from "../common/policy.ts";
import { createLimiter } from "./create-limiter.ts";
import type { Limiter, LimiterOptions } from "./limiter.ts";

const hourly = (name: string, limit: number, per = "default") =>
  fixedWindow({ limit, window: "1h", per, name });

const limits = [hourly("requests", 3), hourly("tokens", 1_000)];

function leftIn(limiter: Limiter, subject: Parameters<Limiter["peek"]>[0] = "u") {
  return limiter
    .peek(subject, { cost: 0 })
    .then(({ limits }) => limits.map(({ remaining, overdrawn }) => remaining - overdrawn));
}

const namesIn = ({ limits }: Decision) => limits.map(({ name }) => name);

afterEach(() => {
  vi.useRealTimers();
});

describe("a cost by name", () => {
  test("a cost by name charges each named limit its units, and the others 1", async () => {
    const limiter = createLimiter({ limits });
    const decision = await limiter.consume("u", { cost: { tokens: 512 } });
    expect(decision).toMatchObject({ allowed: true, cost: { requests: 1, tokens: 512 } });
    expect(decision.limits.map(({ remaining }) => remaining)).toEqual([2, 488]);
    expect(await leftIn(limiter)).toEqual([2, 488]);
    await limiter.consume("u", { cost: {} });
    expect(await leftIn(limiter)).toEqual([1, 487]);
  });

  test("a cost by name charges nothing if one limit denies", async () => {
    const limiter = createLimiter({ limits });
    await limiter.consume("u", { cost: { tokens: 600 } });
    const denied = await limiter.consume("u", { cost: { tokens: 600 } });
    expect(denied).toMatchObject({ allowed: false, limit: 1_000, remaining: 400 });
    expect(denied.limits.map(({ allowed }) => allowed)).toEqual([true, false]);
    expect(await leftIn(limiter)).toEqual([2, 400]);
    expect((await limiter.consume("u", { cost: { tokens: 400 } })).allowed).toBe(true);
  });

  test("a limit with a cost of 0 neither denies nor is charged or reported", async () => {
    const limiter = createLimiter({ limits: [...limits, slidingLog({ limit: 2, window: "1h" })] });
    const cost = { requests: 3, "2-per-1h": 0 };
    const decision = await limiter.consume("u", { cost });
    expect(decision.cost).toEqual({ requests: 3, tokens: 1 });
    expect(namesIn(decision)).toEqual(["requests", "tokens"]);
    expect(await leftIn(limiter)).toEqual([0, 999, 2]);
    const without = await limiter.consume("u", { cost: { requests: 0, tokens: 999 } });
    expect(without).toMatchObject({ allowed: true, cost: { tokens: 999, "2-per-1h": 1 } });
    expect(await leftIn(limiter)).toEqual([0, 0, 1]);
  });

  test("a cost by name cannot be changed through the decision or the caller's object", async () => {
    const limiter = createLimiter({ limits });
    const cost = { tokens: 5 };
    const decision = await limiter.consume("u", { cost });
    cost.tokens = 500;
    expect(decision.cost).toEqual({ requests: 1, tokens: 5 });
    expect(Object.isFrozen(decision.cost)).toBe(true);
    expect(await limiter.refund(decision)).toBe(true);
    expect(await leftIn(limiter)).toEqual([3, 1_000]);
  });

  test("peek takes a cost by name, and charges nothing", async () => {
    const limiter = createLimiter({ limits });
    const peeked = await limiter.peek("u", { cost: { tokens: 900 } });
    expect(peeked).toMatchObject({ allowed: true, cost: { requests: 1, tokens: 900 } });
    expect(peeked.limits.map(({ remaining }) => remaining)).toEqual([2, 100]);
    expect(await leftIn(limiter)).toEqual([3, 1_000]);
    expect(namesIn(await limiter.peek("u", { cost: { tokens: 0 } }))).toEqual(["requests"]);
  });

  test("a cost above what a limit can ever grant is denied for ever, and rejected by wait", async () => {
    const limiter = createLimiter({ limits });
    const cost = { tokens: 1_001 };
    const denied = await limiter.consume("u", { cost });
    expect(denied).toMatchObject({ allowed: false, retryAfterMs: Number.POSITIVE_INFINITY });
    await expect(limiter.wait("u", { cost })).rejects.toMatchObject({
      code: "HEADGATE_COST_ABOVE_LIMIT",
      message: expect.stringMatching(/1001 .*"tokens".* 1000/),
    });
    // A limit that is left out grants whatever.
    const without = { requests: 0, tokens: 1_000 };
    expect((await limiter.wait("u", { cost: without })).cost).toEqual({ tokens: 1_000 });
  });

  test("wait takes a cost by name", async () => {
    vi.useFakeTimers();
    const limiter = createLimiter({ limits });
    await limiter.consume("u", { cost: { tokens: 700 } });
    let decision: Decision | undefined;
    void limiter.wait("u", { cost: { tokens: 400 } }).then((admitted) => {
      decision = admitted;
    });
    await vi.advanceTimersByTimeAsync(3_599_000);
    expect(decision).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1_001);
    expect(decision).toMatchObject({ allowed: true, cost: { requests: 1, tokens: 400 } });
  });

  test.each([
    [{ token: 5 }, '"token"'],
    [{ tokens: -1 }, "-1"],
    [{ tokens: 1.5 }, "1.5"],
    [{ tokens: Number.NaN }, "NaN"],
    [{ tokens: 2 ** 53 }, "9007199254740992"],
    [{ tokens: "5" }, "a string"],
    [{ tokens: undefined }, "undefined"],
    [{ toString: 1 }, '"toString"'],
    [JSON.parse('{ "__proto__": 1 }'), '"__proto__"'],
    [[5], "an array"],
    [new Map([["tokens", 5]]), "an object"],
  ])("of %j is refused, and charged nowhere", async (cost, received) => {
    const limiter = createLimiter({ limits });
    for (const call of [limiter.consume, limiter.peek, limiter.wait, limiter.charge]) {
      const refused = call("u", { cost: cost as CostByName });
      await expect(refused).rejects.toMatchObject({
        code: "HEADGATE_INVALID_COST",
        message: expect.stringContaining(received),
      });
    }
    expect(await leftIn(limiter)).toEqual([3, 1_000]);
  });

  test("a cost names limits as in the policy, even if per-call limits have other numbers", async () => {
    const limiter = createLimiter({ limits: fixedWindow({ limit: 5, window: "1m" }) });
    const called = { limits: fixedWindow({ limit: 50, window: "1m" }), cost: { "5-per-1m": 20 } };
    expect(await limiter.consume("u", called)).toMatchObject({ allowed: true, remaining: 30 });
    await expect(
      limiter.consume("u", { ...called, cost: { "50-per-1m": 20 } }),
    ).rejects.toMatchObject({ code: "HEADGATE_INVALID_COST" });
  });

  test("a name stands for all limits with that name, in each dimension and in an extended limiter", async () => {
    const plan = createLimiter({ name: "plan", limits: [hourly("tokens", 100)] });
    const limiter = createLimiter({
      name: "both",
      extends: plan,
      limits: [hourly("tokens", 50, "tenant"), hourly("requests", 9, "tenant")],
    });
    const who = { default: "u", tenant: "t" };
    const decision = await limiter.consume(who, { cost: { tokens: 20 } });
    expect(decision.cost).toEqual({ tokens: 20, requests: 1 });
    expect(await leftIn(limiter, who)).toEqual([80, 30, 8]);
    expect(await limiter.settle(decision, { tokens: 60 })).toMatchObject({
      charged: { tokens: 60, requests: 1 },
    });
    expect(await leftIn(limiter, who)).toEqual([40, -10, 8]);
  });

  test("a cost by name that leaves out every limit of the call is a cost of 0", async () => {
    const limiter = createLimiter({ limits: [hourly("a", 9), hourly("b", 9, "tenant")] });
    const pending = limiter.consume({ default: "u", tenant: null }, { cost: { a: 0, b: 5 } });
    expect(await pending).toMatchObject({ allowed: true, cost: 0, remaining: 9 });
  });

  test("a limiter with leases rejects every cost by name", async () => {
    const lease = { max: 10, ttl: "10s" } as const;
    const limiter = createLimiter({ limits, lease });
    const decision = await limiter.consume("u");
    const cost = { tokens: 5 };
    const calls = [limiter.consume, limiter.peek, limiter.wait, limiter.charge].map(
      (call) => () => call("u", { cost }),
    );
    for (const call of [...calls, () => limiter.settle(decision, cost)]) {
      await expect(call()).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
    }
    expect((await limiter.settle(decision, 2)).charged).toBe(2);
  });

  test("charge takes a cost by name, even if less is left", async () => {
    const limiter = createLimiter({ limits: [...limits, slidingLog({ limit: 9, window: "1h" })] });
    const charged = await limiter.charge("u", { cost: { tokens: 1_500, requests: 0 } });
    expect(charged).toEqual({
      charged: { tokens: 1_500, "9-per-1h": 1 },
      overflow: { tokens: 0, "9-per-1h": 0 },
      degraded: false,
    });
    expect(await leftIn(limiter)).toEqual([3, -500, 8]);
    const { charged: units, overflow } = await limiter.charge("u", {
      cost: { tokens: 3_000_000_000 },
    });
    expect([units["tokens"], overflow["tokens"]]).toEqual([1_999_998_500, 1_000_001_500]);
  });
});

describe("settle", () => {
  test("settle by name changes the cost of the named limits, and the others keep theirs", async () => {
    const limiter = createLimiter({ limits });
    const decision = await limiter.consume("u", { cost: { tokens: 512 } });
    expect(await limiter.settle(decision, { tokens: 731 })).toEqual({
      charged: { requests: 1, tokens: 731 },
      overflow: { requests: 0, tokens: 0 },
      degraded: false,
    });
    expect(await leftIn(limiter)).toEqual([2, 269]);
    const nothing = { charged: { requests: 0, tokens: 0 }, overflow: { requests: 0, tokens: 0 } };
    expect(await limiter.settle(decision, { tokens: 5 })).toMatchObject(nothing);
    expect(await leftIn(limiter)).toEqual([2, 269]);
  });

  test("settle by name refunds some limits and charges others in one call", async () => {
    const limiter = createLimiter({ limits });
    const decision = await limiter.consume("u", { cost: { requests: 1, tokens: 512 } });
    const settled = await limiter.settle(decision, { requests: 4, tokens: 0 });
    expect(settled.charged).toEqual({ requests: 4, tokens: 0 });
    expect(await leftIn(limiter)).toEqual([-1, 1_000]);
  });

  test("settle by name charges a limit that the decision left out, even if it left out the whole dimension", async () => {
    const limiter = createLimiter({ limits: [...limits, hourly("images", 10, "tenant")] });
    const who = { default: "u", tenant: "t" };
    const decision = await limiter.consume(who, { cost: { tokens: 0, images: 0 } });
    expect(await leftIn(limiter, who)).toEqual([2, 1_000, 10]);
    const settled = await limiter.settle(decision, { tokens: 40, images: 3 });
    expect(settled.charged).toEqual({ requests: 1, tokens: 40, images: 3 });
    expect(await leftIn(limiter, who)).toEqual([2, 960, 7]);
  });

  test("settle by name charges the limits of a decision that took only a slot", async () => {
    const atWork = concurrency({ limit: 2, ttl: "1m", name: "at work" });
    const limiter = createLimiter({ limits: [atWork, ...limits] });
    const decision = await limiter.consume("u", { cost: { requests: 0, tokens: 0 } });
    expect(decision.cost).toEqual({ "at work": 1 });
    const settled = await limiter.settle(decision, { tokens: 731 });
    expect(settled.charged).toEqual({ requests: 0, tokens: 731 });
    expect(await leftIn(limiter)).toEqual([1, 3, 269]);
    const denied = await limiter.consume("u", { cost: { "at work": 3, requests: 0, tokens: 0 } });
    expect(await limiter.settle(denied, { tokens: 1 })).toMatchObject({ charged: { tokens: 0 } });
    expect(await leftIn(limiter)).toEqual([1, 3, 269]);
  });

  test("settle with one number rejects for a decision with a cost by name, and settles nothing", async () => {
    const limiter = createLimiter({ limits });
    const decision = await limiter.consume("u", { cost: { tokens: 5 } });
    const refused = limiter.settle(decision, 731);
    await expect(refused).rejects.toMatchObject({ code: "HEADGATE_INVALID_COST" });
    expect((await limiter.settle(decision, { tokens: 6 })).charged).toEqual({
      requests: 1,
      tokens: 6,
    });
  });

  test("settle at 0 refunds a cost by name completely", async () => {
    const limiter = createLimiter({ limits: [...limits, hourly("images", 10, "tenant")] });
    const who = { default: "u", tenant: "t" };
    const decision = await limiter.consume(who, { cost: { tokens: 5, images: 0 } });
    expect(await limiter.settle(decision, 0)).toEqual({ charged: 0, overflow: 0, degraded: false });
    expect(await leftIn(limiter, who)).toEqual([3, 1_000, 10]);
  });

  test("settle by name works for a decision with one number as cost", async () => {
    const limiter = createLimiter({ limits });
    const decision = await limiter.consume("u", { cost: 2 });
    const settled = await limiter.settle(decision, { requests: 1, tokens: 731 });
    expect(settled.charged).toEqual({ requests: 1, tokens: 731 });
    expect(await leftIn(limiter)).toEqual([2, 269]);
    const kept = await limiter.consume("u", { cost: 2 });
    expect((await limiter.settle(kept, {})).charged).toEqual({ requests: 2, tokens: 2 });
    expect(await leftIn(limiter)).toEqual([0, 267]);
  });

  test.each([{ token: 5 }, { tokens: -1 }, { tokens: null }, [5], null])(
    "settle at %j rejects, and the decision can still be settled",
    async (units) => {
      const limiter = createLimiter({ limits });
      const decision = await limiter.consume("u", { cost: { tokens: 5 } });
      const refused = limiter.settle(decision, units as unknown as CostByName);
      await expect(refused).rejects.toMatchObject({ code: "HEADGATE_INVALID_COST" });
      expect((await limiter.settle(decision, { tokens: 0 })).charged).toEqual({
        requests: 1,
        tokens: 0,
      });
    },
  );

  test("settle by name charges nothing for a denied decision, and reports 0 for each limit", async () => {
    const limiter = createLimiter({ limits });
    const denied = await limiter.consume("u", { cost: { tokens: 1_001 } });
    const settled = await limiter.settle(denied, { tokens: 5 });
    expect(settled).toMatchObject({ charged: { requests: 0, tokens: 0 }, degraded: false });
    expect(await leftIn(limiter)).toEqual([3, 1_000]);
  });
});

describe("a cost by name in Redis", () => {
  type Options = Partial<LimiterOptions<"default" | "tenant">>;

  function start(policy: Policy, options: Options = {}, slotOf: (key: string) => number = () => 0) {
    const { store, held, advance } = holdStore(slotOf);
    const limiter = createLimiter({
      name: "api",
      limits: policy,
      store,
      storeTimeout: "1m",
      ...options,
    } as LimiterOptions);
    return {
      limiter,
      held,
      advance,
      answer: <T>(pending: Promise<T>) => resultOf(held, pending),
    };
  }

  const bySlot = (key: string) => (key.includes(":tenant:") ? 1 : 2);
  const tenants = [hourly("requests", 3), hourly("tokens", 1_000, "tenant")];
  const who = { default: "u", tenant: "t" };

  test("a cached denial applies to equal costs by name, whatever the order of the names", async () => {
    const { limiter, answer } = start(limits);
    await answer(limiter.consume("u", { cost: { tokens: 700 } }));
    const decide = (cost: CostByName | number) => answer(limiter.consume("u", { cost }));
    expect(await decide({ tokens: 400 })).toMatchObject({ allowed: false, source: "store" });
    const again = await decide({ requests: 1, tokens: 400 });
    expect(again).toMatchObject({ allowed: false, source: "deny-cache" });
    expect(again.cost).toEqual({ requests: 1, tokens: 400 });
    expect(await decide({ tokens: 400, requests: 1 })).toMatchObject({ source: "deny-cache" });
    // The largest of these is 400 as well.
    const without = await decide({ requests: 0, tokens: 400 });
    expect(without).toMatchObject({ allowed: false, source: "store" });
    expect(namesIn(without)).toEqual(["tokens"]);
    expect(namesIn(await decide({ requests: 0, tokens: 400 }))).toEqual(["tokens"]);
    expect(await decide({ requests: 2, tokens: 400 })).toMatchObject({ source: "store" });
    expect(await decide(400)).toMatchObject({ allowed: false, source: "store" });
    expect(await decide({ tokens: 300 })).toMatchObject({ allowed: true, source: "store" });
  });

  test("a dimension that the cost leaves out is not decided, and can be charged later", async () => {
    const { limiter, held, answer } = start(tenants, {}, bySlot);
    const pending = limiter.consume(who, { cost: { tokens: 0 } });
    await flushMicrotasks();
    // Two slots would be looked at first.
    expect(held.map(({ name }) => name)).toEqual(["decide"]);
    const decision = await answer(pending);
    expect(decision).toMatchObject({ allowed: true, cost: { requests: 1 } });
    const settled = await answer(limiter.settle(decision, { tokens: 40 }));
    expect(settled.charged).toEqual({ requests: 1, tokens: 40 });
    expect(await answer(leftIn(limiter, who))).toEqual([2, 960]);
  });

  test("a cost by name is decided, refunded, charged and settled across several hash slots", async () => {
    const { limiter, answer } = start(tenants, {}, bySlot);
    const decision = await answer(limiter.consume(who, { cost: { tokens: 500 } }));
    expect(decision).toMatchObject({ allowed: true, cost: { requests: 1, tokens: 500 } });
    const denied = await answer(limiter.consume(who, { cost: { tokens: 501 } }));
    expect(denied.allowed).toBe(false);
    expect(await answer(leftIn(limiter, who))).toEqual([2, 500]);
    await answer(limiter.settle(decision, { requests: 2, tokens: 100 }));
    expect(await answer(leftIn(limiter, who))).toEqual([1, 900]);
    const charged = await answer(limiter.charge(who, { cost: { requests: 2, tokens: 50 } }));
    expect(charged.charged).toEqual({ requests: 2, tokens: 50 });
    expect(await answer(leftIn(limiter, who))).toEqual([-1, 850]);
    const other = { ...who, default: "v" };
    for (const giveBack of [limiter.refund, (one: Decision) => limiter.settle(one, 0)]) {
      const taken = await answer(limiter.consume(other, { cost: { tokens: 9 } }));
      expect(await answer<unknown>(giveBack(taken))).toBeTruthy();
      expect(await answer(leftIn(limiter, other))).toEqual([3, 850]);
    }
    // Limits that were left out have no charge to refund.
    const part = await answer(limiter.consume(other, { cost: { tokens: 0 } }));
    expect((await answer(limiter.settle(part, 0))).charged).toBe(0);
    expect(await answer(leftIn(limiter, other))).toEqual([3, 850]);
  });

  test("a decision rejected with CROSSSLOT is repeated across the hash slots", async () => {
    let hasSlots = false;
    const { limiter, held, answer } = start(tenants, {}, (key) => (hasSlots ? bySlot(key) : 0));
    const pending = limiter.consume(who, { cost: { tokens: 500 } });
    await flushMicrotasks();
    hasSlots = true;
    await held.shift()?.refuse(CROSS_SLOT);
    expect(await answer(pending)).toMatchObject({ allowed: true, cost: { tokens: 500 } });
    expect(await answer(leftIn(limiter, who))).toEqual([2, 500]);
  });

  test("without the store, a cost by name is decided and settled locally, including limits left out", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
    const { limiter } = start(tenants, { storeTimeout: "10ms", localShare: 0.5 });
    const pending = limiter.consume(who, { cost: { tokens: 0 } });
    await vi.advanceTimersByTimeAsync(100);
    const decision = await pending;
    expect(decision).toMatchObject({ source: "local", cost: { requests: 1 } });
    const settled = await limiter.settle(decision, { tokens: 40 });
    expect(settled).toEqual({
      charged: { requests: 1, tokens: 40 },
      overflow: { requests: 0, tokens: 0 },
      degraded: true,
    });
    const looked = limiter.peek(who, { cost: { tokens: 1 } });
    await vi.advanceTimersByTimeAsync(100);
    expect((await looked).limits.map(({ remaining }) => remaining)).toEqual([0, 460]);
    await limiter.close();
  });

  test("a cost by name counts at most the local share, whether it is charged at once or settled", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
    const { limiter } = start(limits, { storeTimeout: "10ms", localShare: 0.5 });
    const within = async <T>(pending: Promise<T>): Promise<T> => {
      await vi.advanceTimersByTimeAsync(100);
      return pending;
    };
    const decision = await within(limiter.consume("u", { cost: { tokens: 400 } }));
    expect(decision).toMatchObject({ allowed: true, source: "local" });
    // The share is 500, as which 900 count.
    await limiter.settle(decision, { tokens: 900 });
    const full = await within(limiter.peek("u", { cost: { requests: 0 } }));
    expect(full.limits).toMatchObject([{ remaining: 0, overdrawn: 0 }]);
    await limiter.close();
  });

  test.each(["allow", "deny"] as const)(
    "with onUnavailable %s, a degraded decision reports its cost by name",
    async (without) => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
      const { limiter } = start(tenants, { storeTimeout: "10ms", onUnavailable: without });
      const pending = limiter.consume(who, { cost: { tokens: 7 } });
      await vi.advanceTimersByTimeAsync(100);
      const decision = await pending;
      expect(decision).toMatchObject({ source: without, cost: { requests: 1, tokens: 7 } });
      expect(await limiter.settle(decision, { tokens: 40 })).toEqual({
        charged: { requests: 0, tokens: 0 },
        overflow: { requests: 0, tokens: 0 },
        degraded: without === "allow",
      });
      const charged = limiter.charge(who, { cost: { tokens: 9 } });
      await vi.advanceTimersByTimeAsync(100);
      expect(await charged).toEqual({
        charged: { requests: 0, tokens: 0 },
        overflow: { requests: 0, tokens: 0 },
        degraded: true,
      });
      await limiter.close();
    },
  );

  test("limits that the store did not settle keep their charge", async () => {
    const { limiter, held, answer } = start(limits);
    const decision = await answer(limiter.consume("u", { cost: { tokens: 500 } }));
    const settling = limiter.settle(decision, { requests: 2, tokens: 100 });
    await flushMicrotasks();
    expect(held.map(({ name }) => name)).toEqual(["charge"]);
    await held.shift()?.refuse(new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "gone"));
    // No refund is sent to a server that is down, either.
    expect(await settling).toEqual({
      charged: { requests: 1, tokens: 500 },
      overflow: { requests: 0, tokens: 0 },
      degraded: true,
    });
    await limiter.close();
  });
});
