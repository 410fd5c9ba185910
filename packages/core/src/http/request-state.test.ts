import { describe, expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import type { Decision } from "../decision.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { Store } from "../store/store.ts";
import { readHeadersOption } from "./headers.ts";
import type { ToldDecision } from "./request-state.ts";
import {
  addDecision,
  bindingDecision,
  forgetAsked,
  subjectOf,
  takeUnasked,
} from "./request-state.ts";

function limiterOf(
  name: string,
  limit: number,
  store: Store = memoryStore({ clock: () => 0 }),
): Limiter {
  return createLimiter({ name, limits: fixedWindow({ limit, window: "1m" }), store });
}

function toldOf(decision: Decision): ToldDecision {
  return { decision, headers: readHeadersOption(undefined) };
}

describe("a limiter", () => {
  test("is asked once per request, and once of every request", () => {
    const limiter = limiterOf("a", 5);
    const [one, other] = [{}, {}];
    const asked = [1, 2, 3].map(() => takeUnasked(one, limiter));
    expect(asked).toEqual([limiter, undefined, undefined]);
    expect(takeUnasked(other, limiter)).toBe(limiter);
  });

  test("is the same by name and store, not by object", () => {
    const store = memoryStore();
    const request = {};
    expect(takeUnasked(request, limiterOf("a", 5, store))).toBeDefined();
    expect(takeUnasked(request, limiterOf("a", 5, store))).toBeUndefined();
    expect(takeUnasked(request, limiterOf("b", 5, store))).toBeDefined();
    expect(takeUnasked(request, limiterOf("a", 5, memoryStore()))).toBeDefined();
  });

  test("that could not answer is asked again, by this request alone", () => {
    const [limiter, bystander] = [limiterOf("a", 5), limiterOf("b", 5)];
    const [one, other] = [{}, {}];
    for (const request of [one, other]) {
      takeUnasked(request, limiter);
      takeUnasked(request, bystander);
    }
    forgetAsked(one, limiter);
    expect(takeUnasked(one, bystander)).toBeUndefined();
    expect(takeUnasked(other, limiter)).toBeUndefined();
    expect(takeUnasked(one, limiter)).toBe(limiter);
    expect(takeUnasked(one, limiter)).toBeUndefined();
  });

  test("is remembered without touching what others see of the request", () => {
    const request = { url: "/" };
    takeUnasked(request, limiterOf("a", 5));
    expect(Object.keys(request)).toEqual(["url"]);
    expect(JSON.stringify(request)).toBe('{"url":"/"}');
  });
});

describe("limiters that extend another one", () => {
  const store = memoryStore();
  const base = limiterOf("base", 5, store);
  const [one, other] = ["one", "other"].map((name) => {
    const limits = fixedWindow({ limit: 1, window: "1s", name });
    return createLimiter({ name, limits, store, extends: base });
  }) as [Limiter, Limiter];

  /** The names of the limits that are asked when these are mounted one after another. */
  function askedBy(...limiters: readonly Limiter[]): (string[] | undefined)[] {
    const request = {};
    return limiters.map((limiter) => takeUnasked(request, limiter)?.limits.map(({ name }) => name));
  }

  test("are asked together with it when nothing was asked before", () => {
    expect(askedBy(one)).toEqual([["5-per-1m", "one"]]);
  });

  test("leave nothing to ask of it, or of themselves", () => {
    expect(askedBy(one, base, one)).toEqual([["5-per-1m", "one"], undefined, undefined]);
  });

  test("are asked only for what they add when it was asked before", () => {
    expect(askedBy(base, one, other, one)).toEqual([["5-per-1m"], ["one"], ["other"], undefined]);
    expect(askedBy(one, other)).toEqual([["5-per-1m", "one"], ["other"]]);
  });

  test("are asked again with it when neither could answer", () => {
    const request = {};
    forgetAsked(request, takeUnasked(request, one) as Limiter);
    expect(takeUnasked(request, base)).toBe(base);
    expect(takeUnasked(request, one)?.limits.map(({ name }) => name)).toEqual(["one"]);
  });

  test("leave it asked when only what they add could not answer", () => {
    const request = {};
    takeUnasked(request, base);
    forgetAsked(request, takeUnasked(request, one) as Limiter);
    expect(takeUnasked(request, base)).toBeUndefined();
    expect(takeUnasked(request, one)?.limits.map(({ name }) => name)).toEqual(["one"]);
    expect(takeUnasked(request, one)).toBeUndefined();
  });
});

describe("the decision that binds", () => {
  test("is the one with the least share left, whichever came first", async () => {
    const wide = await limiterOf("wide", 100).consume("x");
    const tight = await limiterOf("tight", 2).consume("x");
    expect(bindingDecision([wide, tight])).toBe(tight);
    expect(bindingDecision([tight, wide])).toBe(tight);
    expect(bindingDecision([wide])).toBe(wide);
  });

  test("is a denial, whatever the others have left", async () => {
    const spent = limiterOf("spent", 1);
    const allowed = await spent.consume("x");
    const denied = await limiterOf("small", 3).consume("x", { cost: 4 });
    expect([allowed.remaining, denied.remaining]).toEqual([0, 3]);
    expect(bindingDecision([allowed, denied])).toBe(denied);
  });

  test("shares its numbers with its own tightest limit", async () => {
    const limits = [
      fixedWindow({ limit: 100, window: "1h" }),
      fixedWindow({ limit: 4, window: "1m" }),
    ];
    const store = memoryStore({ clock: () => 0 });
    const both = await createLimiter({ name: "both", limits, store }).consume("x");
    const binding = bindingDecision([await limiterOf("a", 10).consume("x"), both]);
    expect(binding).toBe(both);
    expect([binding.limit, binding.remaining]).toEqual([4, 3]);
  });
});

describe("the subject of a request", () => {
  test("is what it was last counted as, ready for reset", async () => {
    const request = {};
    expect(subjectOf(request)).toBeUndefined();
    const limiter = limiterOf("login", 1);
    expect(takeUnasked(request, limiter)).toBe(limiter);
    expect(subjectOf(request)).toBeUndefined();
    const told = toldOf(await limiter.consume({ default: "x" }));
    expect(addDecision(request, told, { default: "x" })).toEqual([told]);
    expect(await limiter.reset(subjectOf(request) ?? "")).toBe(true);
    expect((await limiter.consume("x")).allowed).toBe(true);
  });

  test("is that of the latest decision, and all decisions are kept in order", async () => {
    const request = {};
    const first = toldOf(await limiterOf("a", 5).consume("x"));
    const second = toldOf(await limiterOf("b", 5).consume("y"));
    addDecision(request, first, "x");
    expect(addDecision(request, second, "y")).toEqual([first, second]);
    expect(subjectOf(request)).toBe("y");
  });
});

test("two copies of Headgate see one state", async () => {
  const request = {};
  const told = toldOf(await limiterOf("a", 5).consume("x"));
  addDecision(request, told, "x");
  const state = (request as Record<symbol, unknown>)[Symbol.for("@headgate/core.request")];
  expect(state).toMatchObject({ decisions: [told], subjects: "x" });
});
