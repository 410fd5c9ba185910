import { createLimiter, gcra } from "@headgate/core";
import { byTier } from "@headgate/core/http";
import { describe, expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { Route, RunningSite, SharedOptions, Site } from "./support/framework.ts";

const limits = gcra({ limit: 1, window: "1h" });

/** What frameworks take for "no error", and what Express takes for an instruction. */
const reasons = [undefined, null, "", "route", "router", false, 0] as const;

/** How a function of the application can fail with it. */
const failures: Record<string, (reason: unknown) => () => unknown> = {
  throws: (reason) => () => {
    throw reason;
  },
  rejects: (reason) => () => Promise.reject(reason),
};

/** Where a limiter can stand. */
const places: Record<string, (options: SharedOptions) => Site> = {
  "for the site": (options) => ({ limits: options }),
  "on a route": (options) => ({ routes: { "/": { limits: options } satisfies Route } }),
};

/** Each of the functions, failing; its limiter has denied once when it is `onDenied` that fails. */
const options: Record<string, (fail: () => unknown) => SharedOptions> = {
  skip: (fail) => ({ limits, skip: fail as never }),
  "byTier's function": (fail) => ({ limits: byTier({ free: limits }, fail as never) }),
  key: (fail) => ({ limits, key: fail as never }),
  cost: (fail) => ({ limits, cost: fail as never }),
  onDenied: (fail) => ({ limits, cost: () => 2, onDenied: fail }),
};

const cases = Object.keys(options).flatMap((option) =>
  Object.keys(failures).map((failure) => ({ option, failure })),
);

describeAdapters(({ serve }) => {
  const failing = (option: string, failure: string, reason: unknown, place: string) =>
    places[place]?.(options[option]?.(failures[failure]?.(reason) as never) as never) as Site;

  /** What the error handler has of a request that went no further than it. */
  async function errorOf({ sendRequest, errors, handled }: RunningSite): Promise<unknown> {
    const { status } = await sendRequest();
    expect(status).toBe(500);
    expect(handled).toEqual([]);
    expect(errors).toHaveLength(1);
    return errors[0];
  }

  describe.each(Object.keys(places))("%s", (place) => {
    test.each(cases)(
      "$option that $failure with a value that is no Error: the error handler gets an Error, and the handler is not called",
      async ({ option, failure }) => {
        for (const reason of reasons) {
          const error = await errorOf(await serve(failing(option, failure, reason, place)));
          expect(error).toBeInstanceOf(Error);
          expect(error).toMatchObject({ name: "HeadgateError", code: "HEADGATE_NOT_AN_ERROR" });
          expect((error as Error).cause).toBe(reason);
        }
      },
    );

    test("the framework's own error handler responds with 500", async () => {
      for (const option of Object.keys(options)) {
        for (const reason of reasons) {
          const site = failing(option, "rejects", reason, place);
          const { sendRequest, handled } = await serve({ ...site, ownErrorHandler: false });
          expect((await sendRequest()).status).toBe(500);
          expect(handled).toEqual([]);
        }
      }
    });
  });

  test("an Error is passed on unchanged, and another value is not repeated in the message", async () => {
    const limiter = createLimiter({ limits });
    const own = new RangeError("mine");
    for (const reason of [own, "sk-live-4f9a1c7be2"]) {
      const key = () => Promise.reject(reason);
      const error = await errorOf(await serve({ limits: { limiter, key } }));
      if (reason === own) expect(error).toBe(own);
      else expect((error as Error).message).not.toContain(reason);
    }
  });
});
