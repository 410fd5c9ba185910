import { describe, expect, expectTypeOf, test } from "vitest";
import { readPolicy } from "../algorithms/compile-policy.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import type { RequestPolicy } from "./request-limits.ts";
import { isRequestPolicy, perRequest } from "./request-limits.ts";

const base = fixedWindow({ limit: 1, window: "1m" });

interface Customer {
  readonly limit: number;
}

const limitOf = ({ limit }: Customer) => fixedWindow({ limit, window: "1m" });

describe("perRequest", () => {
  test("perRequest keeps its base and its function", () => {
    const policy = perRequest(base, limitOf);
    expect(policy).toEqual({ base, limitsOf: limitOf });
    expect(isRequestPolicy(policy)).toBe(true);
  });

  test.each([[undefined], [null], [base], ["30-per-1m"]])(
    "perRequest rejects the function %j",
    (limitsOf) => {
      expect(() => perRequest(base, limitsOf as never)).toThrow(
        expect.objectContaining({
          code: "HEADGATE_INVALID_OPTION",
          message: expect.stringMatching(
            /^perRequest: the second argument must be a function .*, got /,
          ),
        }),
      );
    },
  );

  test.each([[base], [[base]], [undefined], [null], ["limitsOf"], [[]], [{}]])(
    "isRequestPolicy is false for %j",
    (policy) => {
      expect(isRequestPolicy(policy)).toBe(false);
    },
  );
});

describe("the function of perRequest", () => {
  test("the function of perRequest may return limits, a promise, null, or limits parsed from JSON", () => {
    expectTypeOf(perRequest(base, limitOf)).toEqualTypeOf<RequestPolicy<Customer, never>>();
    perRequest(base, async (customer: Customer) => limitOf(customer));
    perRequest(base, (customer: Customer) => (customer.limit > 5 ? null : limitOf(customer)));
    perRequest([base], () => [base]);
    perRequest(base, () => readPolicy(base));
    const perTenant = fixedWindow({ limit: 1, window: "1m", per: "tenant" });
    const policy = perRequest(perTenant, () => perTenant);
    expectTypeOf(policy).toEqualTypeOf<RequestPolicy<never, "tenant">>();
  });

  test("the function of perRequest does not compile if it returns anything else", () => {
    // @ts-expect-error Undefined is not null.
    perRequest(base, () => undefined);
    // @ts-expect-error A number is no limit.
    perRequest(base, ({ limit }: Customer) => limit);
    // @ts-expect-error The base counts by no tenant.
    perRequest(base, () => fixedWindow({ limit: 1, window: "1m", per: "tenant" }));
  });
});
