import { describe, expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import type { HeadgateError } from "../errors.ts";
import { byTier, isTierPolicy } from "./by-tier.ts";

const limits = fixedWindow({ limit: 1, window: "1m" });

function errorOf(make: () => unknown): HeadgateError {
  try {
    make();
  } catch (error) {
    return error as HeadgateError;
  }
  throw new Error("nothing was thrown");
}

describe("byTier", () => {
  test("keeps tiers and the function that chooses among them", () => {
    const tiers = { free: limits, premium: [limits] };
    const select = () => "free";
    const policy = byTier(tiers, select);
    expect(policy).toEqual({ tiers, select });
    expect(isTierPolicy(policy)).toBe(true);
  });

  test.each([[{}], [null], [undefined], ["free"], [5], [[]], [[limits]], [() => limits]])(
    "refuses the tiers %j, and says so",
    (tiers) => {
      const error = errorOf(() => byTier(tiers as never, () => "free"));
      expect(error.code).toBe("HEADGATE_INVALID_OPTION");
      expect(error.message).toMatch(/^byTier: tiers must be an object .*, got \S/);
    },
  );

  test.each([[undefined], [null], ["free"], [{ free: 1 }]])(
    "refuses to choose by %j, and says so",
    (select) => {
      const error = errorOf(() => byTier({ free: limits }, select as never));
      expect(error.code).toBe("HEADGATE_INVALID_OPTION");
      expect(error.message).toMatch(/^byTier: the second argument must be a function .*, got \S/);
    },
  );
});

test.each([[limits], [[limits]], [undefined], [null], ["tiers"], [[]], [{}]])(
  "%j are no tiers",
  (policy) => {
    expect(isTierPolicy(policy)).toBe(false);
  },
);
