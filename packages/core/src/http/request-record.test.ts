import { describe, expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import type { Policy } from "../common/policy.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { LimiterWithInternals } from "../limiter/limiter-internals.ts";
import { requireLimiter } from "../limiter/limiter-internals.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { CountingStore } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import { readHeadersOption } from "./headers.ts";
import { Subjects } from "./read-subjects.ts";
import { decisionOf, subjectOf } from "./request-decision.ts";
import type { LimiterCall } from "./request-record.ts";
import {
  addLimiterCall,
  findBindingDecision,
  removeLimiterCall,
  reportedDecisionsOf,
} from "./request-record.ts";

function limiterOn(name: string, limits: Policy, store: CountingStore): LimiterWithInternals {
  return requireLimiter(createLimiter({ name, limits, store }));
}

function limiterOf(
  name: string,
  limit: number,
  store: CountingStore = requireStore(memoryStore({ clock: () => 0 })),
): LimiterWithInternals {
  return limiterOn(name, fixedWindow({ limit, window: "1m" }), store);
}

const OPTIONS = { headers: readHeadersOption(undefined) };

const ann = { default: "ann" };

function subjectsOf(subjects: Readonly<Record<string, string | null>>) {
  return Object.assign(new Subjects(), subjects);
}

/** What is left to ask of a limiter, by the names of its limits. */
function take(
  request: object,
  limiter: LimiterWithInternals,
  subjects: Readonly<Record<string, string | null>> = ann,
): string[] | undefined {
  const part = addLimiterCall(request, limiter, subjectsOf(subjects), false, OPTIONS);
  return part?.groups.flatMap(({ limits }) => limits.map(({ name }) => name));
}

/** Asks a limiter what is left to ask of it. */
async function decide(
  request: object,
  limiter: LimiterWithInternals,
  subjects: Readonly<Record<string, string | null>> = ann,
): Promise<LimiterCall> {
  const part = addLimiterCall(
    request,
    limiter,
    subjectsOf(subjects),
    false,
    OPTIONS,
  ) as LimiterCall;
  const decision = await limiter.consume(subjects);
  part.decision = decision;
  return part;
}

describe("limiter calls of a request", () => {
  test("a limiter is called once for each request", () => {
    const limiter = limiterOf("a", 5);
    const [one, other] = [{}, {}];
    const asked = [1, 2, 3].map(() => take(one, limiter));
    expect(asked).toEqual([["5-per-1m"], undefined, undefined]);
    expect(take(other, limiter)).toEqual(["5-per-1m"]);
  });

  test("limiters with the same name and store count as one, even if they are different objects", () => {
    const store = requireStore(memoryStore());
    const request = {};
    expect(take(request, limiterOf("a", 5, store))).toBeDefined();
    expect(take(request, limiterOf("a", 5, store))).toBeUndefined();
    expect(take(request, limiterOf("b", 5, store))).toBeDefined();
    expect(take(request, limiterOf("a", 5, requireStore(memoryStore())))).toBeDefined();
  });

  test("copies of a request and objects that inherit from it record calls separately", () => {
    const [outer, inner] = [limiterOf("a", 5), limiterOf("b", 5)];
    const request = {};
    take(request, outer);
    const others = [1, 2].flatMap(() => [Object.create(request), { ...request }]);
    for (const other of others) {
      expect(take(other, outer)).toBeUndefined();
      expect(take(other, inner)).toEqual(["5-per-1m"]);
      expect(take(other, inner)).toBeUndefined();
    }
    expect(take(request, inner)).toEqual(["5-per-1m"]);
  });

  test("a limiter that failed can be called again by the same request only", () => {
    const [limiter, bystander] = [limiterOf("a", 5), limiterOf("b", 5)];
    const [one, other] = [{}, {}];
    const parts = [one, other].map((request) => {
      const part = addLimiterCall(request, limiter, subjectsOf(ann), false, OPTIONS) as LimiterCall;
      take(request, bystander);
      return part;
    });
    removeLimiterCall(one, parts[0] as LimiterCall);
    expect(take(one, bystander)).toBeUndefined();
    expect(take(other, limiter)).toBeUndefined();
    expect(take(one, limiter)).toEqual(["5-per-1m"]);
    expect(take(one, limiter)).toBeUndefined();
  });

  test("the record of calls does not appear among the properties of a request", () => {
    const request = { url: "/" };
    take(request, limiterOf("a", 5));
    expect(Object.keys(request)).toEqual(["url"]);
    expect(JSON.stringify(request)).toBe('{"url":"/"}');
  });
});

describe("limiters with several dimensions", () => {
  const limits = [
    fixedWindow({ limit: 5, window: "1m", name: "user", per: "user" }),
    fixedWindow({ limit: 9, window: "1m", name: "ip", per: "ip" }),
    fixedWindow({ limit: 99, window: "1m", name: "all", per: "global" }),
  ];
  const limiter = limiterOn("many", limits, requireStore(memoryStore()));

  test("a dimension that was left out is called later", () => {
    const request = {};
    expect(take(request, limiter, { user: null, ip: null })).toEqual(["all"]);
    expect(take(request, limiter, { user: null, ip: "1.2.3.4" })).toEqual(["ip"]);
    expect(take(request, limiter, { user: null, ip: "5.6.7.8" })).toBeUndefined();
    expect(take(request, limiter, { user: "ann", ip: "1.2.3.4" })).toEqual(["user"]);
    expect(take(request, limiter, { user: "bob", ip: "1.2.3.4" })).toBeUndefined();
  });

  test("all dimensions are called together if possible", () => {
    expect(take({}, limiter, { user: "ann", ip: "1.2.3.4" })).toEqual(["user", "ip", "all"]);
  });
});

describe("limiters that extend another one", () => {
  const store = requireStore(memoryStore());
  const base = limiterOf("base", 5, store);
  const [one, other] = ["one", "other"].map((name) => {
    const limits = fixedWindow({ limit: 1, window: "1s", name });
    return requireLimiter(createLimiter({ name, limits, store, extends: base }));
  }) as [LimiterWithInternals, LimiterWithInternals];

  /** The names of the limits that are asked when these are mounted one after another. */
  function askedBy(...limiters: readonly LimiterWithInternals[]): (string[] | undefined)[] {
    const request = {};
    return limiters.map((limiter) => take(request, limiter));
  }

  test("an extended limiter is called together with its extension", () => {
    expect(askedBy(one)).toEqual([["5-per-1m", "one"]]);
  });

  test("after both were called, nothing remains to be called", () => {
    expect(askedBy(one, base, one)).toEqual([["5-per-1m", "one"], undefined, undefined]);
  });

  test("only the extension is called if the extended limiter was called before", () => {
    expect(askedBy(base, one, other, one)).toEqual([["5-per-1m"], ["one"], ["other"], undefined]);
    expect(askedBy(one, other)).toEqual([["5-per-1m", "one"], ["other"]]);
  });

  test("both are called again if both failed", () => {
    const request = {};
    removeLimiterCall(
      request,
      addLimiterCall(request, one, subjectsOf(ann), false, OPTIONS) as LimiterCall,
    );
    expect(take(request, base)).toEqual(["5-per-1m"]);
    expect(take(request, one)).toEqual(["one"]);
  });

  test("the extended limiter stays called if only the extension failed", () => {
    const request = {};
    take(request, base);
    removeLimiterCall(
      request,
      addLimiterCall(request, one, subjectsOf(ann), false, OPTIONS) as LimiterCall,
    );
    expect(take(request, base)).toBeUndefined();
    expect(take(request, one)).toEqual(["one"]);
    expect(take(request, one)).toBeUndefined();
  });
});

describe("the binding decision", () => {
  test("the binding decision has the smallest remaining share, whatever the order", async () => {
    const wide = await limiterOf("wide", 100).consume("x");
    const tight = await limiterOf("tight", 2).consume("x");
    expect(findBindingDecision([wide, tight])).toBe(tight);
    expect(findBindingDecision([tight, wide])).toBe(tight);
    expect(findBindingDecision([wide])).toBe(wide);
  });

  test("a denial is always the binding decision", async () => {
    const spent = limiterOf("spent", 1);
    const allowed = await spent.consume("x");
    const denied = await limiterOf("small", 3).consume("x", { cost: 4 });
    expect([allowed.remaining, denied.remaining]).toEqual([0, 3]);
    expect(findBindingDecision([allowed, denied])).toBe(denied);
  });

  test("in shadow mode, a decision that would deny is the binding one", async () => {
    const store = requireStore(memoryStore({ clock: () => 0 }));
    const make = (name: string, limit: number) =>
      requireLimiter(
        createLimiter({ name, limits: fixedWindow({ limit, window: "1m" }), store, shadow: true }),
      );
    const allowed = await make("spent", 1).consume("x");
    const wouldBe = await make("small", 3).consume("x", { cost: 4 });
    expect(findBindingDecision([allowed, wouldBe])).toBe(wouldBe);
  });

  test("the binding decision reports its own tightest limit", async () => {
    const limits = [
      fixedWindow({ limit: 100, window: "1h" }),
      fixedWindow({ limit: 4, window: "1m" }),
    ];
    const store = requireStore(memoryStore({ clock: () => 0 }));
    const both = await createLimiter({ name: "both", limits, store }).consume("x");
    const binding = findBindingDecision([await limiterOf("a", 10).consume("x"), both]);
    expect(binding).toBe(both);
    expect([binding.limit, binding.remaining]).toEqual([4, 3]);
  });
});

describe("decisionOf", () => {
  test("decisionOf is undefined before the limiter was called", async () => {
    const [limiter, another] = [limiterOf("login", 1), limiterOf("another", 1)];
    const request = {};
    expect(decisionOf(request, [limiter])).toBeUndefined();
    addLimiterCall(request, limiter, subjectsOf(ann), false, OPTIONS);
    expect(decisionOf(request, [limiter])).toBeUndefined();
    expect(decisionOf(request, [another])).toBeUndefined();
  });

  test("decisionOf returns the limiter's own decision, whatever other limiters were called", async () => {
    const [login, another] = [limiterOf("login", 5), limiterOf("another", 1)];
    const request = {};
    const { decision } = await decide(request, login, { default: "ann" });
    await decide(request, another, { default: "1.2.3.4" });
    const own = decisionOf(request, [login]);
    expect(own).toMatchObject({ decision, limiter: login });
    expect({ ...own?.subject }).toEqual({ default: "ann" });
    expect(await login.reset(own?.subject ?? "")).toBe(true);
  });

  test("decisionOf finds the decision through any limiter that shares the counters", async () => {
    const store = requireStore(memoryStore());
    const request = {};
    const { decision } = await decide(request, limiterOf("login", 5, store));
    const twin = limiterOf("login", 5, store);
    expect(decisionOf(request, [twin])).toMatchObject({
      decision,
      limiter: twin,
    });
  });

  test("the subject contains global only if nothing else was counted, so that a reset does not clear global counters by accident", async () => {
    const everybody = fixedWindow({ limit: 5, window: "1m", per: "global" });
    const store = requireStore(memoryStore());
    const both = limiterOn(
      "both",
      [everybody, fixedWindow({ limit: 9, window: "1m", per: "ip" })],
      store,
    );
    const alone = limiterOn("alone", everybody, store);
    const request = {};
    await decide(request, both, { ip: "1.2.3.4" });
    await decide(request, alone, {});
    expect({ ...decisionOf(request, [both])?.subject }).toEqual({ ip: "1.2.3.4" });
    const own = decisionOf(request, [alone]);
    expect({ ...own?.subject }).toEqual({ global: "*" });
    expect(await alone.reset(own?.subject ?? "")).toBe(true);
    expect({ ...subjectOf(request) }).toEqual({ global: "*" });
  });

  test("decisionOf includes dimensions that were called later", async () => {
    const limits = [
      fixedWindow({ limit: 5, window: "1m", per: "ip" }),
      fixedWindow({ limit: 2, window: "1m", per: "user" }),
    ];
    const limiter = limiterOn("both", limits, requireStore(memoryStore()));
    const request = {};
    const first = await decide(request, limiter, { ip: "1.2.3.4", user: null });
    const part = addLimiterCall(
      request,
      limiter,
      subjectsOf({ ip: "1.2.3.4", user: "ann" }),
      false,
      OPTIONS,
    ) as LimiterCall;
    const decision = await limiter.consume({ ip: null, user: "ann" });
    part.decision = decision;
    const own = decisionOf(request, [limiter]);
    expect({ ...own?.subject }).toEqual({ ip: "1.2.3.4", user: "ann" });
    expect(own?.decision).toBe(decision);
    expect(first.decision?.remaining).toBe(4);
    expect(await own?.refund()).toBe(true);
    const left = await limiter.peek({ ip: "1.2.3.4", user: "ann" });
    expect(left.limits.map(({ remaining }) => remaining)).toEqual([4, 1]);
    expect(await own?.refund()).toBe(false);
  });
});

describe("subjectOf", () => {
  test("subjectOf returns the subject in the form that reset takes", async () => {
    const request = {};
    expect(subjectOf(request)).toBeUndefined();
    const limiter = limiterOf("login", 1);
    await decide(request, limiter, { default: "x" });
    expect(await limiter.reset(subjectOf(request) ?? "")).toBe(true);
    expect((await limiter.consume("x")).allowed).toBe(true);
  });

  test("subjectOf is the subject of the latest decision, and all decisions are kept in order", async () => {
    const request = {};
    const first = await decide(request, limiterOf("a", 5), { default: "x" });
    const second = await decide(request, limiterOf("b", 5), { default: "y" });
    expect(reportedDecisionsOf(request)).toEqual([first, second]);
    expect({ ...subjectOf(request) }).toEqual({ default: "y" });
  });
});

test("two copies of Headgate share the record of a request", async () => {
  const request = {};
  const part = await decide(request, limiterOf("a", 5));
  const state = (request as Record<symbol, unknown>)[Symbol.for("@headgate/core.entries")];
  expect(state).toEqual([part]);
});
