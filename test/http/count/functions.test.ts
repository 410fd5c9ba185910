import { createLimiter, fixedWindow } from "@headgate/core";
import { expect, onTestFinished, test, vi } from "vitest";
import { deferred } from "../support/deferred.ts";
import { describeAdapters } from "../support/describe-frameworks.ts";
import type { Send } from "../support/framework.ts";
import { watchUnhandled } from "../support/unhandled.ts";
import { countUsage } from "./stores.ts";

const limits = fixedWindow({ limit: 100, window: "1h" });

/** What a function may do that is no answer. */
const WRONG: readonly (readonly [string, () => unknown])[] = [
  ["nothing", () => undefined],
  ["null", () => null],
  ["a text", () => "no"],
  ["a negative number", () => -1],
  ["half a unit", () => 0.5],
  ["NaN", () => Number.NaN],
  ["without end", () => Number.POSITIVE_INFINITY],
  ["an object", () => ({ units: 1 })],
  ["a promise of a text", async () => "no"],
  [
    "an error",
    () => {
      throw new TypeError("a bug");
    },
  ],
  ["a rejection", async () => Promise.reject(new TypeError("a bug"))],
  [
    "a thrown undefined",
    () => {
      throw undefined;
    },
  ],
];

describeAdapters(({ serve }) => {
  test.each(WRONG)(
    "%s is reported once, the request stays charged, and the response does not change",
    async (_, count) => {
      const expectNothingUnhandled = watchUnhandled();
      const limiter = createLimiter({ limits });
      const { sendRequest, errors, warnings } = await serve({
        limits: { limiter, count: count as never },
      });
      for (let i = 1; i < 4; i += 1) {
        expect((await sendRequest()).status).toBe(200);
        expect(await countUsage(limiter).used()).toBe(i);
      }
      await expectNothingUnhandled();
      expect(errors).toEqual([]);
      expect(warnings).toEqual([
        {
          code: "HEADGATE_COUNT_FAILED",
          message: expect.stringContaining("the request stays charged"),
        },
      ]);
    },
  );

  test.each(["none", true, null, 5, ["failed"], "FAILED"])(
    "the option count rejects %j",
    async (count) => {
      await expect(serve({ limits: { limits, count: count as never } })).rejects.toMatchObject({
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringContaining(
          'count must be "all", "failed", "succeeded" or a function',
        ),
      });
    },
  );

  test("a limiter that is mounted twice settles all of its charges once", async () => {
    const limiter = createLimiter({
      limits: ["ip", "user"].map((per) => fixedWindow({ limit: 100, window: "1h", per })),
    });
    const mount = (user: string | undefined) =>
      ({ limiter, missingKey: "skip", key: { user: () => user } }) as const;
    const count = vi.fn(() => false);
    for (const limits of [
      [
        { ...mount(undefined), count },
        { ...mount("ann"), count },
      ],
      [{ ...mount(undefined), count }, mount("ann")],
      [mount(undefined), { ...mount("ann"), count }],
      // This one asks nothing any more.
      [mount("ann"), { ...mount("ann"), count }],
    ]) {
      count.mockClear();
      const { sendRequest } = await serve({ limits });
      expect((await sendRequest()).status).toBe(200);
      const ip = { ip: "127.0.0.1", user: "bob" };
      expect(await countUsage(limiter, ip).used()).toBe(0);
      expect((await limiter.peek({ ip: "127.0.0.2", user: "ann" }, { cost: 0 })).remaining).toBe(
        100,
      );
      expect(count).toHaveBeenCalledTimes(1);
    }
  });

  test("a second count for a limiter that was already called is an error", async () => {
    const limiter = createLimiter({ limits });
    const { sendRequest, errors } = await serve({
      limits: [
        { limiter, count: "failed" },
        { limiter, count: "succeeded" },
      ],
    });
    expect((await sendRequest()).status).toBe(500);
    expect(errors).toMatchObject([
      {
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringContaining("count would be ignored"),
      },
    ]);
    expect(await countUsage(limiter).used()).toBe(1);
  });

  test("separate limiters on one request settle separately", async () => {
    const [all, failed, succeeded] = [1, 2, 3].map(() => createLimiter({ limits }));
    const { sendRequest } = await serve({
      limits: [
        { limiter: all },
        { limiter: failed, count: "failed" },
        { limiter: succeeded, count: "succeeded" },
      ],
    });
    await sendRequest("/");
    await sendRequest("/nowhere");
    await sendRequest("/nowhere");
    const used = [all, failed, succeeded].map((limiter) => countUsage(limiter as never).used());
    expect(await Promise.all(used)).toEqual([3, 2, 1]);
  });

  test("many limiters on one request cause no warning about leaking listeners", async () => {
    const leaks: string[] = [];
    const note = ({ name, message }: Error) => {
      if (name === "MaxListenersExceededWarning") leaks.push(message);
    };
    process.on("warning", note);
    onTestFinished(() => {
      process.off("warning", note);
    });
    const limiters = Array.from({ length: 12 }, () => createLimiter({ limits }));
    const { sendRequest } = await serve({
      limits: limiters.map((limiter) => ({ limiter, count: "failed" as const })),
    });
    await sendRequest("/");
    await sendRequest("/nowhere");
    const used = limiters.map((limiter) => countUsage(limiter).used());
    expect(await Promise.all(used)).toEqual(limiters.map(() => 1));
    expect(leaks).toEqual([]);
  });

  test.each([
    ["failed", 503, 1],
    ["failed", 200, 0],
    ["succeeded", 503, 0],
    ["succeeded", 200, 1],
  ] as const)(
    "%s: a response with status %d that was sent before the decision is settled once the decision is made",
    async (count, status, used) => {
      const looked = deferred();
      let send: Send | undefined;
      const limiter = createLimiter({ limits });
      const { sendRequest, handled, errors } = await serve({
        limits: {
          limiter,
          count,
          async key() {
            // What a timer of somebody else's would do while this one waits.
            send?.(status, "timed out");
            await looked.promise;
            return "ann";
          },
        },
        before: (_, answer) => {
          send = answer;
        },
      });
      expect((await sendRequest()).status).toBe(status);
      const { used: now } = countUsage(limiter, "ann");
      expect(await now()).toBe(0);
      looked.resolve();
      expect(await now()).toBe(used);
      expect([handled, errors]).toEqual([[], []]);
    },
  );
});
