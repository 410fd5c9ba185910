import type { Limit } from "@headgate/core";
import {
  fixedWindow,
  gcra,
  memoryStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import { manualClock } from "./support/manual-clock.ts";

const limits: readonly Limit[] = [
  gcra({ limit: 3, window: "10s" }),
  tokenBucket({ capacity: 3, refill: 2, every: "7s" }),
  fixedWindow({ limit: 3, window: "10s" }),
  fixedWindow({ limit: 3, window: "10s", align: "clock" }),
  slidingWindow({ limit: 3, window: "10s" }),
  slidingWindow({ limit: 3, window: "10s", buckets: 7 }),
  slidingLog({ limit: 3, window: "10s" }),
];

describeAdapters(({ serve }) => {
  test.each(limits)(
    "$algorithm: a retry after Retry-After succeeds, and one second earlier does not",
    async (limit) => {
      const clock = manualClock();
      const store = memoryStore({ clock: clock.now });
      const { sendRequest } = await serve({ limits: { name: "api", limits: limit, store } });
      let denied = 0;
      while (denied < 3) {
        // Odd milliseconds, so that hardly a wait is whole seconds.
        clock.advance(337);
        const { status, headers } = await sendRequest();
        if (status === 200) continue;
        denied += 1;
        expect(headers["retry-after"]).toMatch(/^[1-9]\d*$/);
        clock.advance(Number(headers["retry-after"]) * 1_000 - 1_000);
        expect((await sendRequest()).status).toBe(429);
        clock.advance(1_000);
        expect((await sendRequest()).status).toBe(200);
      }
    },
  );

  test("Retry-After below a second is 1, never 0", async () => {
    const store = memoryStore({ clock: manualClock().now });
    const limits = fixedWindow({ limit: 1, window: "900ms" });
    const { sendRequest } = await serve({ limits: { name: "api", limits, store } });
    await sendRequest();
    expect((await sendRequest()).headers["retry-after"]).toBe("1");
  });

  test("with several limits Retry-After is the longest wait", async () => {
    const clock = manualClock();
    const store = memoryStore({ clock: clock.now });
    const both = [
      fixedWindow({ limit: 1, window: "10s" }),
      fixedWindow({ limit: 1, window: "1m" }),
      fixedWindow({ limit: 1, window: "30s" }),
    ];
    const { sendRequest } = await serve({ limits: { name: "api", limits: both, store } });
    await sendRequest();
    expect((await sendRequest()).headers["retry-after"]).toBe("60");
    clock.advance(59_999);
    expect((await sendRequest()).headers["retry-after"]).toBe("1");
    clock.advance(1);
    expect((await sendRequest()).status).toBe(200);
  });

  test("a cost above the limit is denied without Retry-After", async () => {
    const { sendRequest } = await serve({
      limits: { limits: gcra({ limit: 5, window: "1m" }), cost: () => 6 },
    });
    const denied = await sendRequest();
    expect(denied.status).toBe(429);
    expect(denied.headers).not.toHaveProperty("retry-after");
    expect(denied.headers["cache-control"]).toBe("no-store");
    expect(denied.headers["x-ratelimit-remaining"]).toBe("5");
  });

  test("an allowed response has no Retry-After", async () => {
    const { sendRequest } = await serve({ limits: { limits: gcra({ limit: 5, window: "1m" }) } });
    const { headers } = await sendRequest();
    expect(headers).not.toHaveProperty("retry-after");
    expect(headers).not.toHaveProperty("cache-control");
  });
});
