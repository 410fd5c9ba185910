import type { Decision } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { calendarWindowsOf } from "../oracle/calendar-window.ts";
import { randomCalendar } from "../random/calendar.ts";
import { SCALE } from "../random/histories.ts";
import { randomStart } from "../random/steps.ts";
import { claim } from "../support/claim.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { describeRedisStore } from "../support/stores-under-test.ts";

/*
 * A calendar window ends when the store's clock has reached its end, and not before, wherever that clock was meanwhile.
 */

describeRedisStore((tested) => {
  test.each([
    ["within a window gets nobody more than the limit in it", "within"],
    ["by anything gets nobody more than the limit, once for each step", "anywhere"],
  ] as const)("a clock that steps %s", async (_, where) => {
    let steps = 0;
    await tested.run(120 * SCALE, async (random) => {
      const time = new MicroClock(randomStart(random) + 10n ** 15n);
      const limit = {
        algorithm: "fixedWindow",
        limit: random.whole(1, 5),
        ...randomCalendar(random),
      } as const;
      const windowAt = calendarWindowsOf(limit) as NonNullable<
        ReturnType<typeof calendarWindowsOf>
      >;
      const store = tested.open(time.clock);
      const limiter = createLimiter({ ...STORE_ALONE, name: "steps", limits: limit, store });
      const admitted = new Map<bigint, number>();
      let stepped = 0;
      let last: Decision | undefined;
      for (let request = 0; request < 40; request += 1) {
        const { start, end } = windowAt(time.now);
        if (random.chance(0.3)) {
          time.now =
            where === "within"
              ? start + BigInt(random.whole(0, Number(end - start) - 1))
              : time.now + BigInt(random.whole(-2, 2)) * BigInt(random.magnitude(1, 10 ** 13));
          stepped += 1;
        } else if (random.chance(0.1)) time.now = end;
        const window = windowAt(time.now);
        last = await limiter.consume("u");
        const context = () => `at ${time.now} of ${JSON.stringify(limit)}`;
        const left = Number((window.end - time.now + 999n) / 1_000n);
        claim(last.retryAfterMs <= left, () => `${last?.retryAfterMs} ms to wait, ${context()}`);
        if (!last.allowed) continue;
        const count = (admitted.get(window.end) ?? 0) + 1;
        admitted.set(window.end, count);
        const times = where === "within" ? 1 : 1 + stepped;
        claim(count <= limit.limit * times, () => `${count} admitted, ${context()}`);
      }
      steps += stepped;
    });
    expect(steps).toBeGreaterThan(200);
  });

  test("units used under a clock that was months ahead count once, in the present window", async () => {
    const november = BigInt(Date.UTC(2026, 10, 22)) * 1_000n;
    const time = new MicroClock(november + 90n * 86_400_000_000n);
    const limits = { algorithm: "fixedWindow", limit: 3, window: "month" } as const;
    const store = tested.open(time.clock);
    const limiter = createLimiter({ ...STORE_ALONE, name: "ahead", limits, store });
    await limiter.consume("u", { cost: 3 });
    time.now = november;
    for (let i = 0; i < 3; i += 1) {
      const denied = await limiter.consume("u");
      expect(denied).toMatchObject({ allowed: false, retryAfterMs: 9 * 86_400_000 });
    }
    time.advance(9n * 86_400_000_000n);
    expect((await limiter.consume("u", { cost: 3 })).allowed).toBe(true);
  });
});
