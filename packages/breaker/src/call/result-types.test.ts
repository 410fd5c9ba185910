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

describe("the type of what a call returns", () => {
  test("is that of what run returns, at once or later", () => {
    const breaker = createBreaker();
    expectTypeOf(breaker.run(() => 5)).resolves.toEqualTypeOf<number>();
    expectTypeOf(breaker.run(async () => page)).resolves.toEqualTypeOf<Page>();
    const narrow = createBreaker<Answer>();
    expectTypeOf(narrow.run(() => page)).resolves.toEqualTypeOf<Page>();
    expectTypeOf(narrow.for("eu").run(() => page)).resolves.toEqualTypeOf<Page>();
  });

  test("is one that isFailure can judge", () => {
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

  test("is that of the fallback, which is told what was returned", () => {
    const breaker = createBreaker<Answer>();
    const running = breaker.run(() => page, {
      fallback(context) {
        expectTypeOf(context).toEqualTypeOf<FallbackContext<Page>>();
        return context.because === "result" ? context.result : page;
      },
    });
    expectTypeOf(running).resolves.toEqualTypeOf<Page>();
    // @ts-expect-error The fallback answers in the place of the call.
    const wrong = () => breaker.run<Page>(() => page, { fallback: () => "text" });
    expectTypeOf(wrong).toBeFunction();
  });
});

test("a refusal is told apart by why", () => {
  expectTypeOf<
    Extract<FallbackContext<Page>, { because: "open" }>["error"]["code"]
  >().toEqualTypeOf<import("@headgate/core").HeadgateErrorCode>();
  expectTypeOf<
    Extract<FallbackContext<Page>, { because: "open" }>["retryAfterMs"]
  >().toEqualTypeOf<number>();
  expectTypeOf<Extract<FallbackContext<Page>, { because: "error" }>["error"]>().toBeUnknown();
  expectTypeOf<
    Extract<FallbackContext<Page>, { because: "timeout" }>["error"]
  >().toEqualTypeOf<Error>();
  expectTypeOf<FallbackContext<Page>["because"]>().toEqualTypeOf<
    "open" | "error" | "timeout" | "result"
  >();
});

test("a breaker is a target, and a target of a wider result is none of a narrower one", () => {
  expectTypeOf(createBreaker<Answer>()).toExtend<Target<Answer>>();
  expectTypeOf(createBreaker().admit()).resolves.toEqualTypeOf<Permit>();
  expectTypeOf<RunOptions<Page>["timeout"]>().toEqualTypeOf<
    import("@headgate/core").Duration | undefined
  >();
});

test("a backoff is what openFor takes", () => {
  const openFor = exponentialBackoff({ first: "1s", longest: "1m" });
  expectTypeOf(createBreaker({ openFor }).name).toBeString();
  // @ts-expect-error A time has a unit.
  const wrong = () => createBreaker({ openFor: "1 fortnight" });
  expectTypeOf(wrong).toBeFunction();
});
