import { describe, expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import type { Limiter } from "../limiter.ts";
import { createLimiter } from "../limiter.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { Store } from "../store/store.ts";
import { addDecision, askOnce, bindingDecision, subjectOf } from "./request-state.ts";

function limiterOf(
  name: string,
  limit: number,
  store: Store = memoryStore({ clock: () => 0 }),
): Limiter {
  return createLimiter({ name, limits: fixedWindow({ limit, window: "1m" }), store });
}

describe("a limiter", () => {
  test("is asked once per request, and once of every request", () => {
    const limiter = limiterOf("a", 5);
    const [one, other] = [{}, {}];
    expect([askOnce(one, limiter), askOnce(one, limiter), askOnce(one, limiter)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(askOnce(other, limiter)).toBe(true);
  });

  test("is the same by name and store, not by object", () => {
    const store = memoryStore();
    const request = {};
    expect(askOnce(request, limiterOf("a", 5, store))).toBe(true);
    expect(askOnce(request, limiterOf("a", 5, store))).toBe(false);
    expect(askOnce(request, limiterOf("b", 5, store))).toBe(true);
    expect(askOnce(request, limiterOf("a", 5, memoryStore()))).toBe(true);
  });

  test("that another one extends is not asked again, and one that adds limits to it is", () => {
    const store = memoryStore();
    const base = limiterOf("base", 5, store);
    const limits = fixedWindow({ limit: 1, window: "1s" });
    const extended = createLimiter({ name: "route", limits, store, extends: base });
    const [extendedFirst, baseFirst] = [{}, {}];
    expect([askOnce(extendedFirst, extended), askOnce(extendedFirst, base)]).toEqual([true, false]);
    expect([askOnce(baseFirst, base), askOnce(baseFirst, extended)]).toEqual([true, true]);
  });

  test("is remembered without touching what others see of the request", () => {
    const request = { url: "/" };
    askOnce(request, limiterOf("a", 5));
    expect(Object.keys(request)).toEqual(["url"]);
    expect(JSON.stringify(request)).toBe('{"url":"/"}');
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
    expect(askOnce(request, limiter)).toBe(true);
    expect(subjectOf(request)).toBeUndefined();
    const decision = await limiter.consume({ default: "x" });
    expect(addDecision(request, decision, { default: "x" })).toEqual([decision]);
    expect(await limiter.reset(subjectOf(request) ?? "")).toBe(true);
    expect((await limiter.consume("x")).allowed).toBe(true);
  });

  test("is that of the latest decision, and all decisions are kept in order", async () => {
    const request = {};
    const first = await limiterOf("a", 5).consume("x");
    const second = await limiterOf("b", 5).consume("y");
    addDecision(request, first, "x");
    expect(addDecision(request, second, "y")).toEqual([first, second]);
    expect(subjectOf(request)).toBe("y");
  });
});

test("two copies of Headgate see one state", async () => {
  const request = {};
  const decision = await limiterOf("a", 5).consume("x");
  addDecision(request, decision, "x");
  const state = (request as Record<symbol, unknown>)[Symbol.for("@headgate/core.request")];
  expect(state).toMatchObject({ decisions: [decision], subjects: "x" });
});
