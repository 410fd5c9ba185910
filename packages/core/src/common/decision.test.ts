import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import type { LimitState } from "./decision.ts";
import { bindingLimit } from "./decision.ts";

function stateOf(name: string, state: Partial<LimitState>): LimitState {
  return {
    name,
    per: "default",
    limit: 10,
    windowMs: 1_000,
    allowed: true,
    remaining: 10,
    overdrawn: 0,
    retryAfterMs: 0,
    resetAfterMs: 0,
    refillAfterMs: 0,
    ...state,
  };
}

function bindingOf(allowed: boolean, ...limits: readonly LimitState[]): string {
  return bindingLimit(limits, allowed).name;
}

describe("the binding limit", () => {
  test("of an allowed decision is the one with the smallest remaining share, not the fewest units", () => {
    const tight = stateOf("tight", { limit: 1_000, remaining: 100 });
    const loose = stateOf("loose", { limit: 10, remaining: 9 });
    expect(bindingOf(true, tight, loose)).toBe("tight");
  });

  test("of a denied decision is the one with the longest wait, where an endless wait is the longest", () => {
    const short = stateOf("short", { allowed: false, retryAfterMs: 5 });
    const long = stateOf("long", { allowed: false, retryAfterMs: 6 });
    const never = stateOf("never", { allowed: false, retryAfterMs: Number.POSITIVE_INFINITY });
    expect(bindingOf(false, short, long)).toBe("long");
    expect(bindingOf(false, never, long)).toBe("never");
    expect(bindingOf(false, long, never)).toBe("never");
  });

  test("of equal limits is the one with the longer window, then the first name", () => {
    const day = stateOf("day", { windowMs: 86_400_000 });
    const never = { allowed: false, retryAfterMs: Number.POSITIVE_INFINITY };
    expect(bindingOf(true, stateOf("a", {}), day)).toBe("day");
    expect(bindingOf(true, stateOf("b", {}), stateOf("a", {}))).toBe("a");
    expect(bindingOf(false, stateOf("b", never), stateOf("a", never))).toBe("a");
    expect(bindingOf(false, stateOf("a", never), { ...day, ...never })).toBe("day");
  });

  test("is exact for products above 2^53", () => {
    // (10^9 - 1) / 10^9 is the larger share by one part in 10^18.
    const more = stateOf("more", { limit: 1_000_000_000, remaining: 999_999_999, windowMs: 2 });
    const less = stateOf("less", { limit: 999_999_999, remaining: 999_999_998, windowMs: 1 });
    expect(bindingOf(true, more, less)).toBe("less");
    expect(bindingOf(true, less, more)).toBe("less");
  });

  const anyState = fc
    .record({
      name: fc.constantFrom("a", "b", "c"),
      per: fc.constantFrom("ip", "user"),
      limit: fc.constantFrom(1, 3, 10, 1_000_000_000),
      remaining: fc.nat(3),
      windowMs: fc.constantFrom(1_000, 60_000),
      retryAfterMs: fc.constantFrom(0, 5, 1_000, Number.POSITIVE_INFINITY),
    })
    .map((state) => stateOf(state.name, state));
  test.prop([fc.array(anyState, { minLength: 1, maxLength: 5 }), fc.boolean(), fc.nat()])(
    "does not depend on the order in which limits were written",
    (limits, allowed, seed) => {
      const turn = seed % limits.length;
      const turned = [...limits.slice(turn), ...limits.slice(0, turn)];
      const { name, windowMs } = bindingLimit(limits, allowed);
      for (const other of [turned, limits.toReversed()]) {
        expect(bindingLimit(other, allowed)).toMatchObject({ name, windowMs });
      }
    },
  );
});
