import { describe, expectTypeOf, test } from "vitest";
import type { FallbackContext, Permit, RunOptions, Target } from "../breaker.ts";
import { createBreaker } from "../create-breaker.ts";
import { exponentialBackoff } from "../exponential-backoff.ts";

/* The types are checked when the tests are compiled; here they only run. */

interface Answer {
  readonly status: number;
}

interface Page extends Answer {
  readonly body: string;
}

const page: Page = { status: 200, body: "" };

describe("result types", () => {
  test("run has the result type of its call, sync or async", () => {
    const breaker = createBreaker();
    expectTypeOf(breaker.run(() => 5)).resolves.toEqualTypeOf<number>();
    expectTypeOf(breaker.run(async () => page)).resolves.toEqualTypeOf<Page>();
    const narrow = createBreaker<Answer>();
    expectTypeOf(narrow.run(() => page)).resolves.toEqualTypeOf<Page>();
    expectTypeOf(narrow.for("eu").run(() => page)).resolves.toEqualTypeOf<Page>();
  });

  test("isFailure receives the breaker's result type", () => {
    const breaker = createBreaker<Answer>({
      isFailure(call) {
        expectTypeOf(call).toEqualTypeOf<PromiseSettledResult<Answer>>();
        return call.status === "rejected" || call.value.status >= 500;
      },
    });
    expectTypeOf<Parameters<typeof breaker.run<Page>>[0]>().returns.toEqualTypeOf<
      Page | Promise<Page>
    >();
    // @ts-expect-error A text has no status.
    const wrong = () => breaker.run(() => "text");
    expectTypeOf(wrong).toBeFunction();
  });

  test("the fallback has the call's result type, and its context the returned result", () => {
    const breaker = createBreaker<Answer>();
    const running = breaker.run(() => page, {
      fallback(context) {
        expectTypeOf(context).toEqualTypeOf<FallbackContext<Page>>();
        return context.reason === "result" ? context.result : page;
      },
    });
    expectTypeOf(running).resolves.toEqualTypeOf<Page>();
    // @ts-expect-error The fallback answers in the place of the call.
    const wrong = () => breaker.run<Page>(() => page, { fallback: () => "text" });
    expectTypeOf(wrong).toBeFunction();
  });
});

test("FallbackContext is discriminated by its reason", () => {
  expectTypeOf<Extract<FallbackContext<Page>, { reason: "open" }>["error"]["code"]>().toEqualTypeOf<
    import("@headgate/core").HeadgateErrorCode
  >();
  expectTypeOf<
    Extract<FallbackContext<Page>, { reason: "open" }>["retryAfterMs"]
  >().toEqualTypeOf<number>();
  expectTypeOf<Extract<FallbackContext<Page>, { reason: "error" }>["error"]>().toBeUnknown();
  expectTypeOf<
    Extract<FallbackContext<Page>, { reason: "timeout" }>["error"]
  >().toEqualTypeOf<Error>();
  expectTypeOf<FallbackContext<Page>["reason"]>().toEqualTypeOf<
    "open" | "error" | "timeout" | "result"
  >();
});

test("a breaker is a target of its result type", () => {
  expectTypeOf(createBreaker<Answer>()).toExtend<Target<Answer>>();
  expectTypeOf(createBreaker().admit()).resolves.toEqualTypeOf<Permit>();
  expectTypeOf<RunOptions<Page>["timeout"]>().toEqualTypeOf<
    import("@headgate/core").Duration | undefined
  >();
});

test("openFor accepts an exponentialBackoff", () => {
  const openFor = exponentialBackoff({ first: "1s", longest: "1m" });
  expectTypeOf(createBreaker({ openFor }).name).toBeString();
  // @ts-expect-error A time has a unit.
  const wrong = () => createBreaker({ openFor: "1 fortnight" });
  expectTypeOf(wrong).toBeFunction();
});
