import { fc, test } from "@fast-check/vitest";
import { describe, expect, vi } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import { slidingWindow } from "../algorithms/sliding-window.ts";
import { tokenBucket } from "../algorithms/token-bucket.ts";
import type { Decision } from "../common/decision.ts";
import type { HeadgateError } from "../common/errors.ts";
import { formatKind, formatNumber, formatReceived } from "../common/errors.ts";
import type { Limit, Policy } from "../common/policy.ts";
import type { Subjects } from "../policy/counters.ts";
import { memoryStore } from "../store/memory-store.ts";
import { createLimiter } from "./create-limiter.ts";
import type { CostOptions, Limiter, LimiterOptions } from "./limiter.ts";
import { internalsOf } from "./limiter-internals.ts";

const START = 1_800_000_000_000;

/** A limiter on a clock that the test turns. */
function start<const Per extends string = never>(limits: Policy<Per>) {
  let now = START;
  const store = memoryStore({ clock: () => now });
  const limiter = createLimiter({ name: "test", limits, store });
  return {
    limiter,
    store,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

async function refusalOf(call: Promise<unknown>): Promise<HeadgateError> {
  return call.then(
    (value) => {
      throw new Error(`resolved with ${JSON.stringify(value)}`);
    },
    (error) => error,
  );
}

function remainingOf({ limits }: Decision): number[] {
  return limits.map(({ remaining }) => remaining);
}

describe("createLimiter rejects", () => {
  const limits = gcra({ limit: 1, window: "1s" });

  test.each([
    ["points", "limits: fixedWindow({ limit, window })"],
    ["storeClient", "store: redisStore(client)"],
    ["maxConcurrent", "limits: concurrency({ limit, ttl })"],
    ["timeoutMs", "storeTimeout"],
  ])("%s, which another limiter calls an option, in favour of ours", (option, ours) => {
    expect(() => createLimiter({ limits, [option]: 1 } as never)).toThrow(
      `createLimiter: unknown option "${option}"; Headgate's way is ${ours}`,
    );
  });

  test.each(["keyGenerator", "onDenied", "skip"])(
    "the option %s, which only adapters have, is rejected",
    (option) => {
      expect(() => createLimiter({ limits, [option]: 1 } as never)).toThrow(
        `createLimiter: unknown option "${option}"; it takes name, `,
      );
    },
  );

  test.each<[option: string, value: unknown]>([
    ["limits", undefined],
    ["limits", null],
    ["limits", []],
    ["limits", [null]],
    ["limits", "gcra"],
    ["limits", [[limits]]],
    ["limits", [limits, {}]],
    ["maxQueue", 0],
    ["maxQueue", -1],
    ["maxQueue", 1.5],
    ["maxQueue", "10"],
    ["maxQueue", null],
    ["maxQueue", Number.POSITIVE_INFINITY],
    ["store", null],
    ["store", {}],
    ["store", { run: () => [] }],
    ["store", "redis://localhost"],
    ["extends", null],
    ["extends", {}],
    ["extends", "parent"],
  ])("the invalid option %s: %j is rejected", (option, value) => {
    const options = { name: "test", limits, [option]: value } as LimiterOptions;
    let error: HeadgateError | undefined;
    try {
      createLimiter(options);
    } catch (thrown) {
      error = thrown as HeadgateError;
    }
    const code = option === "limits" ? "HEADGATE_INVALID_LIMIT" : "HEADGATE_INVALID_OPTION";
    expect(error?.code).toBe(code);
    const received = Array.isArray(value) && value.length > 0 ? value.at(-1) : value;
    const isPrivate = option === "store" || option === "extends";
    const message = isPrivate ? `, got ${formatKind(value)}` : formatReceived(received);
    expect(error?.message).toContain(message);
    if (isPrivate) expect(error?.message.endsWith(message)).toBe(true);
  });

  test.each(["max", "windowMs", "keyGenerator", "Name"])(
    "the unknown option %s is rejected",
    (option) => {
      expect(() => createLimiter({ limits, [option]: 5 } as never)).toThrow(
        expect.objectContaining({
          code: "HEADGATE_INVALID_OPTION",
          message: expect.stringContaining(`"${option}"`),
        }),
      );
    },
  );

  test("two limits cannot have the same name in one dimension, but can in two", () => {
    const twins = [gcra({ limit: 1, window: "1s" }), fixedWindow({ limit: 1, window: "1s" })];
    expect(() => createLimiter({ limits: twins })).toThrow(
      expect.objectContaining({
        code: "HEADGATE_INVALID_LIMIT",
        message: expect.stringContaining('"1-per-1s"'),
      }),
    );
    const [first] = twins;
    expect(() =>
      createLimiter({ limits: [first as Limit, gcra({ limit: 1, window: "1s", per: "ip" })] }),
    ).not.toThrow();
    expect(() =>
      createLimiter({
        limits: [gcra({ limit: 1, window: "1s" }), gcra({ limit: 1, window: "2s", name: "again" })],
      }),
    ).not.toThrow();
  });

  test("two limits of one dimension that differ only in numbers need names", () => {
    const first = gcra({ limit: 1, window: "1s" });
    const second = gcra({ limit: 2, window: "1s" });
    for (const others of [
      [first, second],
      [{ ...first, name: "a" }, second],
    ]) {
      expect(() => createLimiter({ limits: others })).toThrow(
        expect.objectContaining({
          code: "HEADGATE_INVALID_LIMIT",
          message: expect.stringContaining("give each a name"),
        }),
      );
    }
    expect(() =>
      createLimiter({
        limits: [
          { ...first, name: "a" },
          { ...second, name: "b" },
        ],
      }),
    ).not.toThrow();
    expect(() => createLimiter({ limits: [first, { ...second, per: "ip" }] })).not.toThrow();
  });

  const anything = fc.anything({ withBigInt: true, withNullPrototype: true });
  test.prop([
    fc.record(
      {
        name: fc.oneof(fc.string(), anything),
        limits: fc.oneof(fc.constant(limits), anything),
        store: fc.oneof(fc.constant(memoryStore()), anything),
        extends: anything,
        maxQueue: fc.oneof(fc.nat(), anything),
      },
      { requiredKeys: [] },
    ),
  ])("any options either create a limiter or throw a HeadgateError", async (options) => {
    try {
      await createLimiter(options as LimiterOptions).close();
    } catch (error) {
      expect((error as HeadgateError).code).toMatch(/^HEADGATE_INVALID_(LIMIT|OPTION)$/);
    }
  });
});

test("a policy has at most a hundred limits", () => {
  const limitsOf = (count: number): Limit[] =>
    Array.from({ length: count }, (_, i) => gcra({ limit: 1 + i, window: "1h", name: `l${i}` }));
  createLimiter({ limits: limitsOf(100) });
  expect(() => createLimiter({ limits: limitsOf(101) })).toThrow(
    expect.objectContaining({
      code: "HEADGATE_INVALID_LIMIT",
      message: expect.stringContaining("101"),
    }),
  );
});

test("a limiter describes its limits in the order of the policy", () => {
  const { limiter } = start([
    slidingLog({ limit: 1_000, window: "1h", per: "tenant" }),
    gcra({ limit: 100, window: "1m", burst: 20, name: "burst" }),
  ]);
  expect(limiter.limits).toEqual([
    { name: "1000-per-1h", per: "tenant", limit: 1_000, windowMs: 3_600_000 },
    { name: "burst", per: "default", limit: 20, windowMs: 12_000 },
  ]);
});

describe.each<readonly [title: string, limits: Limit]>([
  ["gcra", gcra({ limit: 3, window: "30s" })],
  ["tokenBucket", tokenBucket({ capacity: 3, refill: 1, every: "10s" })],
  ["fixedWindow", fixedWindow({ limit: 3, window: "30s" })],
  ["fixedWindow by the clock", fixedWindow({ limit: 3, window: "30s", align: "clock" })],
  ["slidingWindow", slidingWindow({ limit: 3, window: "30s" })],
  ["slidingWindow in buckets", slidingWindow({ limit: 3, window: "30s", buckets: 10 })],
  ["slidingLog", slidingLog({ limit: 3, window: "30s" })],
])("%s", (_, limits) => {
  test("the limit is admitted, then a denial's wait is exact: admitted after it, denied a millisecond earlier", async () => {
    const { limiter, pass } = start(limits);
    for (const left of [2, 1, 0]) {
      expect(await limiter.consume("u")).toMatchObject({
        allowed: true,
        limit: 3,
        remaining: left,
        retryAfterMs: 0,
        cost: 1,
        source: "store",
        degraded: false,
      });
    }
    const denied = await limiter.consume("u");
    expect(denied).toMatchObject({ allowed: false, limit: 3, remaining: 0, cost: 1 });
    expect(denied.retryAfterMs).toBeGreaterThan(0);
    expect(denied.resetAfterMs).toBeGreaterThanOrEqual(denied.retryAfterMs);
    pass(denied.retryAfterMs - 1);
    expect(await limiter.consume("u")).toMatchObject({ allowed: false, retryAfterMs: 1 });
    pass(1);
    expect((await limiter.consume("u")).allowed).toBe(true);
  });

  test("a denied request is not charged", async () => {
    const { limiter, pass } = start(limits);
    await limiter.consume("u", { cost: 2 });
    for (let i = 0; i < 20; i += 1) {
      expect((await limiter.consume("u", { cost: 2 })).allowed).toBe(false);
    }
    const last = await limiter.consume("u");
    expect(last).toMatchObject({ allowed: true, remaining: 0 });
    pass(last.resetAfterMs);
    expect((await limiter.consume("u", { cost: 3 })).allowed).toBe(true);
  });

  test("a cost of n counts as n requests, and one above the limit is denied for ever", async () => {
    const { limiter } = start(limits);
    expect((await limiter.consume("u", { cost: 3 })).remaining).toBe(0);
    expect((await limiter.consume("u")).allowed).toBe(false);
    expect(await limiter.consume("v", { cost: 4 })).toMatchObject({
      allowed: false,
      remaining: 3,
      retryAfterMs: Number.POSITIVE_INFINITY,
      cost: 4,
    });
    expect((await limiter.consume("v", { cost: 3 })).allowed).toBe(true);
  });

  test("peek returns the decision that consume would return, and changes nothing", async () => {
    const { limiter, pass } = start(limits);
    await limiter.consume("u");
    pass(1_234);
    const peeked = await limiter.peek("u", { cost: 2 });
    expect(await limiter.peek("u", { cost: 2 })).toEqual(peeked);
    expect(await limiter.consume("u", { cost: 2 })).toEqual(peeked);
    expect(await limiter.peek("u")).toEqual(await limiter.consume("u"));
  });

  test("a decision is refunded once, and only if it was charged", async () => {
    const { limiter } = start(limits);
    const decision = await limiter.consume("u", { cost: 2 });
    await limiter.consume("u");
    const denied = await limiter.consume("u");
    expect(await limiter.refund(denied)).toBe(false);
    expect(await limiter.refund(await limiter.peek("u"))).toBe(false);
    expect(await limiter.refund(decision)).toBe(true);
    expect(await limiter.refund(decision)).toBe(false);
    expect((await limiter.consume("u", { cost: 3 })).allowed).toBe(false);
    expect((await limiter.consume("u", { cost: 2 })).allowed).toBe(true);
  });

  test("a refund does not change a counter that started again after the charge", async () => {
    const { limiter } = start(limits);
    const decision = await limiter.consume("u", { cost: 3 });
    await limiter.reset("u");
    await limiter.consume("u", { cost: 3 });
    expect(await limiter.refund(decision)).toBe(false);
    expect((await limiter.consume("u")).allowed).toBe(false);
  });

  test("units that have already recovered are not refunded", async () => {
    const { limiter, pass } = start(limits);
    const decision = await limiter.consume("u", { cost: 3 });
    pass(decision.resetAfterMs);
    expect(await limiter.refund(decision)).toBe(false);
    expect((await limiter.peek("u", { cost: 3 })).allowed).toBe(true);
    expect((await limiter.peek("u", { cost: 4 })).allowed).toBe(false);
  });

  test("reset forgets the subject, and resolves with whether it had usage", async () => {
    const { limiter } = start(limits);
    await limiter.consume("u", { cost: 3 });
    await limiter.consume("v", { cost: 3 });
    expect(await limiter.reset("u")).toBe(true);
    expect(await limiter.reset("u")).toBe(false);
    expect((await limiter.consume("u")).allowed).toBe(true);
    expect((await limiter.consume("v")).allowed).toBe(false);
  });
});

describe("several limits", () => {
  test("if one of three limits denies, the other two are not charged", async () => {
    const { limiter } = start([
      gcra({ limit: 1, window: "1s" }),
      fixedWindow({ limit: 100, window: "1h" }),
      slidingLog({ limit: 1_000, window: "1d" }),
    ]);
    const decisions: Decision[] = [];
    for (let i = 0; i < 50; i += 1) decisions.push(await limiter.consume("u"));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(1);
    expect(remainingOf(decisions[49] as Decision)).toEqual([0, 99, 999]);
  });

  test("a denial reports for each limit whether it would have allowed the request", async () => {
    const { limiter } = start([
      gcra({ limit: 1, window: "1s" }),
      fixedWindow({ limit: 100, window: "1h" }),
    ]);
    await limiter.consume("u");
    expect(await limiter.consume("u")).toMatchObject({
      allowed: false,
      limit: 1,
      retryAfterMs: 1_000,
      limits: [
        { name: "1-per-1s", allowed: false, remaining: 0, retryAfterMs: 1_000 },
        { name: "100-per-1h", allowed: true, remaining: 99, retryAfterMs: 0 },
      ],
    });
  });

  test("a decision has the numbers of the binding limit, which need not be the first", async () => {
    const { limiter } = start([
      fixedWindow({ limit: 100, window: "1h" }),
      fixedWindow({ limit: 4, window: "1m" }),
    ]);
    expect(await limiter.consume("u")).toMatchObject({
      limit: 4,
      remaining: 3,
      resetAfterMs: 60_000,
    });
  });

  test.prop([
    fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
    fc.array(fc.tuple(fc.nat(30_000), fc.integer({ min: 1, max: 4 })), { maxLength: 20 }),
  ])("decisions do not depend on the order of the limits", async (order, calls) => {
    const limits = [
      gcra({ limit: 5, window: "10s" }),
      slidingLog({ limit: 8, window: "1m" }),
      fixedWindow({ limit: 6, window: "30s", align: "clock", per: "tenant" }),
      slidingWindow({ limit: 9, window: "1m", per: "tenant" }),
    ] as const;
    const one = start(limits);
    const other = start(order.map((i) => limits[i] as (typeof limits)[number]));
    const subject = { default: "u", tenant: "t" };
    for (const [ms, cost] of calls) {
      one.pass(ms);
      other.pass(ms);
      const a = await one.limiter.consume(subject, { cost });
      const b = await other.limiter.consume(subject, { cost });
      expect(b).toMatchObject({
        allowed: a.allowed,
        limit: a.limit,
        remaining: a.remaining,
        retryAfterMs: a.retryAfterMs,
        resetAfterMs: a.resetAfterMs,
      });
      expect(b.limits).toEqual(order.map((i) => a.limits[i]));
    }
  });
});

describe("a cost", () => {
  const limiter = createLimiter({ limits: gcra({ limit: 10, window: "1h" }) });

  test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, "1", null, 1n])(
    "a cost of %s is rejected, and the message shows it if it is a number",
    async (cost) => {
      for (const call of [limiter.consume, limiter.wait, limiter.peek]) {
        const error = await refusalOf(call("u", { cost } as CostOptions));
        expect(error.code).toBe("HEADGATE_INVALID_COST");
        expect(error.message).toContain(`got ${formatNumber(cost)}`);
      }
      expect((await limiter.peek("u")).remaining).toBe(9);
    },
  );

  test("a cost of 2^53 - 1 is denied, not rejected", async () => {
    const decision = await limiter.consume("u", { cost: Number.MAX_SAFE_INTEGER });
    expect(decision).toMatchObject({
      allowed: false,
      retryAfterMs: Number.POSITIVE_INFINITY,
      remaining: 10,
    });
    expect(JSON.parse(JSON.stringify(decision)).retryAfterMs).toBeNull();
  });

  test("an undefined cost is 1", async () => {
    expect((await limiter.peek("u", { cost: undefined })).cost).toBe(1);
    expect((await limiter.peek("u", {})).cost).toBe(1);
  });
});

describe("a subject", () => {
  test.each([undefined, ""])(
    "the subject %j is rejected, so that clients without a subject never share a counter",
    async (subject) => {
      const { limiter } = start(gcra({ limit: 1, window: "1s" }));
      for (const call of [limiter.consume, limiter.peek, limiter.wait, limiter.reset]) {
        for (const subjects of [subject, { default: subject }]) {
          const error = await refusalOf(call(subjects as Subjects));
          expect(error.code).toBe("HEADGATE_EMPTY_KEY");
          expect(error.message).toContain(`got ${formatReceived(subject)}`);
        }
      }
    },
  );

  test.each([5, true, 10n, Symbol("u"), () => "u"])("a subject %s is rejected", async (subject) => {
    const { limiter } = start(gcra({ limit: 1, window: "1s" }));
    for (const subjects of [subject, { default: subject }]) {
      const error = await refusalOf(limiter.consume(subjects as never));
      expect(error.code).toBe("HEADGATE_INVALID_KEY");
      expect(error.message).toMatch(new RegExp(`got ${formatKind(subject)}$`));
    }
  });

  test.each([null, [], ["u"], new Map()])(
    "a subject %s is rejected with an error code",
    async (subject) => {
      const { limiter } = start(gcra({ limit: 1, window: "1s" }));
      const { code } = await refusalOf(limiter.consume(subject as never));
      expect(code).toMatch(/^HEADGATE_(EMPTY_KEY|INVALID_KEY|INVALID_OPTION)$/);
    },
  );

  const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "\ud800", "{}:", "a\nb"];
  test.each(names)("%j is an ordinary subject", async (subject) => {
    const { limiter } = start(gcra({ limit: 1, window: "1m" }));
    expect((await limiter.consume(subject)).allowed).toBe(true);
    expect((await limiter.consume(subject)).allowed).toBe(false);
    for (const other of names.filter((name) => name !== subject)) {
      expect((await limiter.consume(other)).allowed).toBe(true);
    }
  });
});

describe("dimensions", () => {
  function startTwo() {
    return start([
      gcra({ limit: 2, window: "1m" }),
      gcra({ limit: 5, window: "1m", per: "tenant" }),
      gcra({ limit: 100, window: "1m", per: "global" }),
    ]);
  }

  test("each dimension counts by its own subject, and the global one counts all subjects together", async () => {
    const { limiter } = startTwo();
    expect(remainingOf(await limiter.consume({ default: "ann", tenant: "acme" }))).toEqual([
      1, 4, 99,
    ]);
    expect(remainingOf(await limiter.consume({ default: "bob", tenant: "acme" }))).toEqual([
      1, 3, 98,
    ]);
    expect(remainingOf(await limiter.consume({ default: "ann", tenant: "other" }))).toEqual([
      0, 4, 97,
    ]);
    expect((await limiter.consume({ default: "ann", tenant: "third" })).allowed).toBe(false);
    expect(remainingOf(await limiter.peek({ default: "cy", tenant: "third" }))).toEqual([1, 4, 96]);
  });

  test("equal subjects of two dimensions have separate counters", async () => {
    const { limiter } = startTwo();
    await limiter.consume({ default: "*", tenant: "*" });
    expect(remainingOf(await limiter.peek({ default: "*", tenant: "*" }))).toEqual([0, 3, 98]);
  });

  test("a null subject leaves its dimension's limits out of the decision", async () => {
    const { limiter } = startTwo();
    const decision = await limiter.consume({ default: null, tenant: "acme" });
    expect(decision.limits.map(({ per }) => per)).toEqual(["tenant", "global"]);
    const all = await limiter.consume({ default: "ann", tenant: "acme" });
    expect(remainingOf(all)).toEqual([1, 3, 98]);
  });

  test("at least one dimension needs a subject, because a request without one would be unlimited", async () => {
    const { limiter } = start(gcra({ limit: 2, window: "1m", per: "tenant" }));
    expect((await refusalOf(limiter.consume({ tenant: null }))).code).toBe("HEADGATE_EMPTY_KEY");
  });

  test("a missing subject is rejected, not skipped", async () => {
    const { limiter } = startTwo();
    for (const subjects of [{ default: "ann" }, { tenant: "acme" }, {}]) {
      expect((await refusalOf(limiter.consume(subjects))).code).toBe("HEADGATE_EMPTY_KEY");
    }
  });

  test("a subject in an unknown or misspelt dimension is rejected", async () => {
    const { limiter } = startTwo();
    for (const [extra, shown] of [
      [{ Tenant: "acme" }, '"Tenant"'],
      [{ user: null }, '"user"'],
      [JSON.parse('{"__proto__": "x"}'), '"__proto__"'],
    ]) {
      const subjects = { default: "ann", tenant: "acme", ...extra };
      Object.defineProperties(subjects, Object.getOwnPropertyDescriptors(extra));
      const error = await refusalOf(limiter.consume(subjects));
      expect(error.code).toBe("HEADGATE_INVALID_OPTION");
      expect(error.message).toContain(shown);
    }
  });

  test("subjects of two dimensions need an object, not one string", async () => {
    const { limiter } = startTwo();
    const error = await refusalOf(limiter.consume("ann" as never));
    expect(error.code).toBe("HEADGATE_INVALID_OPTION");
    expect(error.message).toContain("default");
    expect(error.message).toContain("tenant");
  });

  test("one dimension besides the global one accepts a string as subject", async () => {
    const { limiter } = start([
      gcra({ limit: 2, window: "1m", per: "apiKey" }),
      gcra({ limit: 3, window: "1m", per: "global" }),
    ]);
    expect(remainingOf(await limiter.consume("k1" as never))).toEqual([1, 2]);
    expect(remainingOf(await limiter.consume({ apiKey: "k2" }))).toEqual([1, 1]);
  });

  test("reset forgets the named dimensions, and the global counter only if it is named", async () => {
    const { limiter } = startTwo();
    const ann = { default: "ann", tenant: "acme" };
    await limiter.consume(ann, { cost: 2 });
    expect(await limiter.reset({ default: "ann" })).toBe(true);
    expect(remainingOf(await limiter.peek(ann))).toEqual([1, 2, 97]);
    expect(await limiter.reset({ tenant: "acme", default: null })).toBe(true);
    expect(remainingOf(await limiter.peek(ann))).toEqual([1, 4, 97]);

    const one = start([
      gcra({ limit: 2, window: "1m" }),
      gcra({ limit: 9, window: "1m", per: "global" }),
    ]).limiter;
    await one.consume("ann", { cost: 2 });
    await one.reset("ann");
    expect(remainingOf(await one.peek("ann"))).toEqual([1, 6]);
  });

  test.each(["__proto__", "constructor", "toString"])(
    "a dimension may be called %s",
    async (per) => {
      const { limiter } = start([
        gcra({ limit: 1, window: "1m" }),
        gcra({ limit: 2, window: "1m", per }),
      ]);
      const subjects = (text: string) =>
        Object.fromEntries([
          ["default", text],
          [per, text],
        ]);
      expect(remainingOf(await limiter.consume(subjects("ann")))).toEqual([0, 1]);
      expect((await limiter.consume(subjects("ann"))).allowed).toBe(false);
      expect((await refusalOf(limiter.consume({ default: "ann" }))).code).toBe(
        "HEADGATE_EMPTY_KEY",
      );
      expect(await limiter.reset({ default: "ann" })).toBe(true);
      expect(remainingOf(await limiter.peek(subjects("ann")))).toEqual([0, 0]);
      expect(await limiter.reset(Object.fromEntries([[per, "ann"]]))).toBe(true);
      expect(remainingOf(await limiter.peek(subjects("ann")))).toEqual([0, 1]);
    },
  );
});

describe("a limiter that extends another", () => {
  function startPair() {
    const { limiter: parent, store } = start([
      gcra({ limit: 3, window: "1m" }),
      gcra({ limit: 50, window: "1m", per: "tenant" }),
    ]);
    const child = createLimiter({
      name: "child",
      limits: fixedWindow({ limit: 2, window: "1m" }),
      extends: parent,
    }) as Limiter;
    return { parent, child, store };
  }
  const ann = { default: "ann", tenant: "acme" };

  /** Asks only what the child adds. */
  async function consumeOwn(child: Limiter, cost = 1): Promise<Decision> {
    const { policy, parent, consumeGroups } = internalsOf(child);
    const inherited = parent === undefined ? [] : internalsOf(parent).policy.groups;
    return consumeGroups(policy.groups.slice(inherited.length), ann, { cost });
  }

  test("the limits that an extending limiter adds can be consumed alone, and nothing else is charged", async () => {
    const { parent, child } = startPair();
    const decision = await consumeOwn(child);
    expect(decision.limits.map(({ name, remaining }) => [name, remaining])).toEqual([
      ["2-per-1m", 1],
    ]);
    expect(remainingOf(await parent.peek(ann))).toEqual([2, 49]);
    await consumeOwn(child);
    expect((await consumeOwn(child)).allowed).toBe(false);
  });

  test("an extending limiter decides by both policies at once, the inherited one first", async () => {
    const { parent, child } = startPair();
    expect(child.limits.map(({ name }) => name)).toEqual(["3-per-1m", "50-per-1m", "2-per-1m"]);
    expect(remainingOf(await child.consume(ann))).toEqual([2, 49, 1]);
    expect(remainingOf(await parent.consume(ann))).toEqual([1, 48]);
    expect(remainingOf(await child.consume(ann))).toEqual([0, 47, 0]);
  });

  test("an extending limiter charges neither policy if one of them denies", async () => {
    const { parent, child } = startPair();
    await child.consume(ann);
    await child.consume(ann);
    for (let i = 0; i < 10; i += 1) expect((await child.consume(ann)).allowed).toBe(false);
    expect(remainingOf(await parent.peek(ann))).toEqual([0, 47]);
    await parent.consume(ann);
    const decision = await child.consume(ann);
    expect(decision.limits.map(({ allowed }) => allowed)).toEqual([false, true, false]);
  });

  test("a refund of an extending limiter refunds both policies", async () => {
    const { parent, child } = startPair();
    const decision = await child.consume(ann, { cost: 2 });
    expect(await child.refund(decision)).toBe(true);
    expect(remainingOf(await parent.peek(ann))).toEqual([2, 49]);
    expect(remainingOf(await child.peek(ann))).toEqual([2, 49, 1]);
  });

  test("an extending limiter must be on the store of the limiter that it extends", () => {
    const { parent } = startPair();
    const options = { name: "x", limits: gcra({ limit: 1, window: 1 }), extends: parent };
    expect(() => createLimiter({ ...options, store: memoryStore() })).toThrow(
      expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }),
    );
    expect(() => createLimiter({ ...options, name: undefined })).toThrow(
      expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }),
    );
  });

  test("a limiter cannot extend itself, because it would decide twice", () => {
    const { parent, child } = startPair();
    const again = {
      name: "test",
      limits: [gcra({ limit: 3, window: "1m" }), gcra({ limit: 50, window: "1m", per: "tenant" })],
    } as const;
    for (const [limiter, options] of [
      [parent, again],
      [child, again],
      [child, { name: "child", limits: fixedWindow({ limit: 2, window: "1m" }) }],
    ] as const) {
      expect(() => createLimiter({ ...options, extends: limiter } as LimiterOptions)).toThrow(
        expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }),
      );
    }
  });

  test("a limiter with the name and policy of the one it extends is rejected with an explanation", () => {
    const limits = gcra({ limit: 3, window: "1m" });
    const { limiter } = start(limits);
    expect(() => createLimiter({ name: "test", limits, extends: limiter })).toThrow(
      expect.objectContaining({
        code: "HEADGATE_INVALID_OPTION",
        message: "extends: a limiter cannot extend one of its own name that counts in the same way",
      }),
    );
  });

  test("a limiter cannot extend a closed one, and its name stays free", async () => {
    const { limiter: parent, store } = start(gcra({ limit: 3, window: "1m" }));
    await parent.close();
    const limits = fixedWindow({ limit: 2, window: "1m" });
    expect(() => createLimiter({ name: "child", limits, extends: parent })).toThrow(
      expect.objectContaining({
        code: "HEADGATE_CLOSED",
        message: 'the limiter "test" has been closed',
      }),
    );
    const changed = fixedWindow({ limit: 9, window: "1m" });
    expect(createLimiter({ name: "child", limits: changed, store }).name).toBe("child");
  });

  test("closing an extending limiter leaves the extended one open", async () => {
    const { parent, child, store } = startPair();
    expect([parent, child].map((one) => internalsOf(one).isClosed)).toEqual([false, false]);
    await child.close();
    await child.close();
    expect([parent, child].map((one) => internalsOf(one).isClosed)).toEqual([false, true]);
    expect((await refusalOf(child.consume(ann))).code).toBe("HEADGATE_CLOSED");
    expect((await parent.consume(ann)).allowed).toBe(true);
    const changed = fixedWindow({ limit: 9, window: "1m" });
    expect(createLimiter({ name: "child", limits: changed, store }).name).toBe("child");
  });

  test("a refund of decisions that either policy made alone works once for each", async () => {
    const { parent, child } = startPair();
    const ofParent = await parent.consume(ann, { cost: 3 });
    const ofOwn = await consumeOwn(child, 2);
    expect(remainingOf(await child.peek(ann))).toEqual([0, 47, 0]);
    expect(await child.refund(ofParent)).toBe(true);
    expect(remainingOf(await child.peek(ann))).toEqual([3, 50, 0]);
    expect(await child.refund(ofOwn)).toBe(true);
    // A peek reports the state after its own cost.
    expect(remainingOf(await child.peek(ann))).toEqual([2, 49, 1]);
    expect(await child.refund(ofParent)).toBe(false);
    expect(await parent.refund(ofParent)).toBe(false);
    expect(await child.refund(ofOwn)).toBe(false);
  });

  test("the extended limiter does not refund a decision of the extending one", async () => {
    const { parent, child } = startPair();
    const decision = await child.consume(ann);
    expect((await refusalOf(parent.refund(decision))).code).toBe("HEADGATE_INVALID_DECISION");
    expect(await child.refund(decision)).toBe(true);
  });

  test("a limiter does not refund a decision of another limiter that extends the same one", async () => {
    const { parent, child } = startPair();
    const limits = fixedWindow({ limit: 4, window: "1m" });
    const sibling = createLimiter({ name: "sibling", limits, extends: parent }) as Limiter;
    const decision = await sibling.consume(ann);
    expect((await refusalOf(child.refund(decision))).code).toBe("HEADGATE_INVALID_DECISION");
    expect(await sibling.refund(decision)).toBe(true);
  });
});

describe("refund rejects", () => {
  test.each([undefined, null, 5, {}, { allowed: true, cost: 5, limits: [] }])(
    "refund rejects %j, which is not a decision",
    async (decision) => {
      const { limiter } = start(gcra({ limit: 1, window: "1m" }));
      const error = await refusalOf(limiter.refund(decision as never));
      expect(error.code).toBe("HEADGATE_INVALID_DECISION");
    },
  );

  test("refund rejects a copy of a decision, which has no receipt", async () => {
    const { limiter } = start(gcra({ limit: 1, window: "1m" }));
    const decision = await limiter.consume("u");
    expect((await refusalOf(limiter.refund({ ...decision }))).code).toBe(
      "HEADGATE_INVALID_DECISION",
    );
    expect(await limiter.refund(decision)).toBe(true);
  });

  test("refund rejects a decision of another limiter, which can still refund it", async () => {
    const { limiter, store } = start(gcra({ limit: 1, window: "1m" }));
    const other = createLimiter({ name: "other", limits: gcra({ limit: 1, window: "1m" }), store });
    const decision = await limiter.consume("u");
    expect((await refusalOf(other.refund(decision))).code).toBe("HEADGATE_INVALID_DECISION");
    expect(await limiter.refund(decision)).toBe(true);
  });

  test("refund accepts a decision of a limiter with the same name, which is the same limiter", async () => {
    const { limiter, store } = start(gcra({ limit: 1, window: "1m" }));
    const same = createLimiter({ name: "test", limits: gcra({ limit: 1, window: "1m" }), store });
    expect(await same.refund(await limiter.consume("u"))).toBe(true);
    expect((await limiter.consume("u")).allowed).toBe(true);
  });
});

test("a refund works across two copies of Headgate, but only for the same limiter", async () => {
  const limits = gcra({ limit: 1, window: "1m" });
  const { limiter, store } = start(limits);
  vi.resetModules();
  const copy = await import("./create-limiter.ts");
  expect(copy.createLimiter).not.toBe(createLimiter);
  const same = copy.createLimiter({ name: "test", limits, store });
  const other = copy.createLimiter({ name: "other", limits, store });
  const decision = await limiter.consume("u");
  expect((await refusalOf(other.refund(decision))).code).toBe("HEADGATE_INVALID_DECISION");
  expect(await same.refund(decision)).toBe(true);
  expect(await limiter.refund(decision)).toBe(false);
  const back = await same.consume("u");
  expect(back.allowed).toBe(true);
  expect(await limiter.refund(back)).toBe(true);
  expect((await limiter.consume("u")).allowed).toBe(true);
});

test("a changed window starts another counter, and a changed number keeps it", async () => {
  const { limiter, store } = start(gcra({ limit: 3, window: "1m" }));
  await limiter.consume("u", { cost: 3 });
  await limiter.close();
  const more = createLimiter({ name: "test", limits: gcra({ limit: 5, window: "1m" }), store });
  expect(await more.consume("u", { cost: 3 })).toMatchObject({ allowed: false, remaining: 2 });
  await more.close();
  const longer = createLimiter({ name: "test", limits: gcra({ limit: 3, window: "2m" }), store });
  expect((await longer.consume("u", { cost: 3 })).allowed).toBe(true);
});

describe("a closed limiter", () => {
  test("a closed limiter rejects every call with HEADGATE_CLOSED", async () => {
    const { limiter } = start(gcra({ limit: 5, window: "1m" }));
    const decision = await limiter.consume("u");
    await limiter.close();
    for (const call of [
      limiter.consume("u"),
      limiter.peek("u"),
      limiter.reset("u"),
      limiter.wait("u"),
      limiter.refund(decision),
    ]) {
      expect((await refusalOf(call)).code).toBe("HEADGATE_CLOSED");
    }
  });

  test("closing a limiter does not affect a new one with its name", async () => {
    const { limiter, store } = start(gcra({ limit: 2, window: "1m" }));
    const other = createLimiter({ name: "test", limits: gcra({ limit: 2, window: "1m" }), store });
    await limiter.consume("u");
    await limiter.close();
    expect((await other.consume("u")).remaining).toBe(0);
  });
});

test.each<[name: "consume" | "peek" | "wait", options: unknown]>([
  ["consume", null],
  ["consume", { costs: 3 }],
  ["peek", 3],
  ["wait", null],
  ["wait", { timeoutMs: 3 }],
  ["wait", { timeout: 0 }],
  ["wait", { timeout: "soon" }],
  ["wait", { signal: {} }],
])("%s rejects the options %j", async (name, options) => {
  const { limiter } = start(gcra({ limit: 5, window: "1m" }));
  const refusal = await refusalOf(limiter[name]("u", options as never));
  expect(refusal.code).toBe("HEADGATE_INVALID_OPTION");
});

describe("a refund of an object that only looks like a decision", () => {
  test("refund rejects an object that only looks like a decision, and the real decision can still be refunded", async () => {
    const { limiter } = start(gcra({ limit: 2, window: "1h" }));
    const decision = await limiter.consume("u");
    for (const one of [Object.create(decision), new Proxy(decision, {}), { ...decision }]) {
      const error = await refusalOf(limiter.refund(one));
      expect(error.code).toBe("HEADGATE_INVALID_DECISION");
    }
    expect(await limiter.refund(decision)).toBe(true);
  });
});

test("the error for a call without any subject names the dimensions", async () => {
  const { limiter } = start([
    gcra({ limit: 2, window: "1h", per: "ip" }),
    gcra({ limit: 2, window: "1h", per: "user" }),
  ]);
  const error = await refusalOf(limiter.consume({ ip: null, user: null }));
  expect([error.code, error.message]).toEqual([
    "HEADGATE_EMPTY_KEY",
    "no dimension has a subject, so no limit would apply: give at least one of ip, user a subject other than null",
  ]);
});
