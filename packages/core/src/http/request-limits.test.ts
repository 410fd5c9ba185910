import { describe, expect, expectTypeOf, test } from "vitest";
import { readPolicy } from "../algorithms/compile-policy.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import type { HeadgateError } from "../common/errors.ts";
import type { Policy } from "../common/policy.ts";
import type { TierPolicy } from "./request-limits.ts";
import { byTier, isTierPolicy } from "./request-limits.ts";

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
  test("byTier keeps its tiers and the function that selects one", () => {
    const tiers = { free: limits, premium: [limits] };
    const select = () => "free" as const;
    const policy = byTier(tiers, select);
    expect(policy).toEqual({ tiers, select });
    expect(isTierPolicy(policy)).toBe(true);
  });

  test.each([[{}], [null], [undefined], ["free"], [5], [[]], [[limits]], [() => limits]])(
    "byTier rejects the tiers %j",
    (tiers) => {
      const error = errorOf(() => byTier(tiers as never, () => "free"));
      expect(error.code).toBe("HEADGATE_INVALID_OPTION");
      expect(error.message).toMatch(/^byTier: tiers must be an object .*, got \S/);
    },
  );

  test("byTier rejects tiers that are all without limits", () => {
    const tiers = { free: null, internal: null, [Symbol("note")]: limits };
    Object.defineProperty(tiers, "hidden", { value: limits });
    const error = errorOf(() => byTier(tiers, () => "free"));
    expect(error.code).toBe("HEADGATE_INVALID_OPTION");
    expect(error.message).toMatch(/^byTier: at least one tier must have limits, got \S/);
  });

  test("byTier does not call getters of tiers", () => {
    const tiers = {
      get free(): typeof limits {
        throw new Error("must not be asked");
      },
    };
    expect(byTier(tiers, () => "free").tiers).toBe(tiers);
  });

  test.each([[undefined], [null], ["free"], [{ free: 1 }]])(
    "byTier rejects the function %j",
    (select) => {
      const error = errorOf(() => byTier({ free: limits }, select as never));
      expect(error.code).toBe("HEADGATE_INVALID_OPTION");
      expect(error.message).toMatch(/^byTier: the second argument must be a function .*, got \S/);
    },
  );
});

interface User {
  readonly plan: "free" | "premium";
  readonly label: string;
}

describe("the function of byTier", () => {
  const tiers = { free: limits, premium: [limits] };

  test("the function of byTier may return the name of a tier or a promise of it", () => {
    byTier(tiers, ({ plan }: User) => plan);
    byTier(tiers, async ({ plan }: User) => plan);
    byTier(tiers, ({ label }: User) => (label === "gold" ? "premium" : "free"));
    byTier(tiers, async ({ label }: User) => (label === "gold" ? "premium" : "free"));
    byTier(tiers, ({ label }: User) => label as "free" | "premium");
    byTier({ free: readPolicy(limits) }, () => "free");
    expectTypeOf(byTier(tiers, ({ plan }: User) => plan)).toEqualTypeOf<TierPolicy<User, never>>();
    const perTenant = { free: fixedWindow({ limit: 1, window: "1m", per: "tenant" }) };
    expectTypeOf(byTier(perTenant, () => "free")).toEqualTypeOf<TierPolicy<never, "tenant">>();
  });

  test("the function of byTier may return the name of a tier without limits", () => {
    const policy = byTier({ ...tiers, staff: null }, () => "staff");
    expectTypeOf(policy).toEqualTypeOf<TierPolicy<never, never>>();
  });

  test("the function of byTier may return any string if the compiler does not know the tiers", () => {
    const loaded: Readonly<Record<string, Policy>> = tiers;
    byTier(loaded, ({ label }: User) => label);
  });

  test("the function of byTier does not compile if it may return another name", () => {
    // @ts-expect-error No tier is called so.
    byTier(tiers, () => "gold");
    // @ts-expect-error No tier is called so.
    byTier(tiers, ({ label }: User) => (label === "gold" ? "gold" : "free"));
    // @ts-expect-error Nor later.
    byTier(tiers, async () => "gold");
    // @ts-expect-error Any text may be none of them.
    byTier(tiers, ({ label }: User) => label);
    // @ts-expect-error Nothing is none of them.
    byTier(tiers, ({ plan }: Partial<User>) => plan);
  });
});

test.each([[limits], [[limits]], [undefined], [null], ["tiers"], [[]], [{}]])(
  "isTierPolicy is false for %j",
  (policy) => {
    expect(isTierPolicy(policy)).toBe(false);
  },
);
