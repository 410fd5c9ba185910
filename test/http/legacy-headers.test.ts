import { fixedWindow, gcra, memoryStore, slidingLog } from "@headgate/core";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import { manualClock } from "./support/manual-clock.ts";
import { secondsLeft } from "./support/seconds-left.ts";

const FIVE = slidingLog({ limit: 5, window: "10s" });

describeAdapters(({ serve }) => {
  test("X-RateLimit-* report the limit, the remaining units, and the seconds until the limit has recovered", async () => {
    const clock = manualClock();
    const store = memoryStore({ clock: clock.now });
    const { sendRequest } = await serve({ limits: { name: "api", limits: FIVE, store } });
    expect((await sendRequest()).headers).toMatchObject({
      "x-ratelimit-limit": "5",
      "x-ratelimit-remaining": "4",
      "x-ratelimit-reset": "10",
    });
    clock.advance(2_500);
    expect((await sendRequest()).headers).toMatchObject({
      "x-ratelimit-remaining": "3",
      "x-ratelimit-reset": "10",
    });
  });

  test("X-RateLimit-Reset is rounded up, so that it is never early", async () => {
    const clock = manualClock();
    const store = memoryStore({ clock: clock.now });
    const limits = fixedWindow({ limit: 5, window: "10s" });
    const { sendRequest } = await serve({ limits: { name: "api", limits, store } });
    await sendRequest();
    clock.advance(2_001);
    expect((await sendRequest()).headers["x-ratelimit-reset"]).toBe("8");
    clock.advance(7_998);
    expect((await sendRequest()).headers["x-ratelimit-reset"]).toBe("1");
  });

  test('reset: "epoch" reports the reset in seconds since the epoch', async () => {
    const limits = fixedWindow({ limit: 5, window: "1h" });
    const { sendRequest } = await serve({ limits: { limits, headers: { reset: "epoch" } } });
    const before = Date.now();
    const { headers } = await sendRequest();
    const reset = Number(headers["x-ratelimit-reset"]);
    expect(reset).toBeGreaterThanOrEqual(Math.ceil((before + 3_600_000) / 1_000));
    expect(reset).toBeLessThanOrEqual(Math.ceil((Date.now() + 3_600_000) / 1_000));
  });

  test("a denial has X-RateLimit-* with 0 remaining", async () => {
    const { sendRequest } = await serve({ limits: { limits: gcra({ limit: 1, window: "1h" }) } });
    await sendRequest();
    const denied = await sendRequest();
    expect(denied.status).toBe(429);
    expect(denied.headers).toMatchObject({
      "x-ratelimit-limit": "1",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": secondsLeft(3_600),
    });
  });

  test("with several limits, X-RateLimit-* show the one with the smallest remaining share, whatever the order", async () => {
    const loose = gcra({ limit: 1_000, window: "1h" });
    const tight = gcra({ limit: 4, window: "1m" });
    for (const limits of [
      [loose, tight],
      [tight, loose],
    ]) {
      const { sendRequest } = await serve({ limits: { limits } });
      expect((await sendRequest()).headers).toMatchObject({
        "x-ratelimit-limit": "4",
        "x-ratelimit-remaining": "3",
        "x-ratelimit-reset": "15",
      });
    }
  });

  test("if several limits deny, X-RateLimit-* show the one that takes longest", async () => {
    const limits = [
      fixedWindow({ limit: 2, window: "1m" }),
      fixedWindow({ limit: 2, window: "1h" }),
      gcra({ limit: 100, window: "1h" }),
    ];
    const { sendRequest } = await serve({ limits: { limits } });
    await sendRequest();
    await sendRequest();
    const { status, headers } = await sendRequest();
    expect(status).toBe(429);
    expect(headers).toMatchObject({ "x-ratelimit-limit": "2", "x-ratelimit-remaining": "0" });
    expect(headers["x-ratelimit-reset"]).toEqual(secondsLeft(3_600));
    expect(headers["retry-after"]).toEqual(secondsLeft(3_600));
  });

  test("X-RateLimit-Limit is the burst or capacity, if there is one", async () => {
    const { sendRequest } = await serve({
      limits: { limits: gcra({ limit: 60, window: "1m", burst: 7 }) },
    });
    expect((await sendRequest()).headers).toMatchObject({
      "x-ratelimit-limit": "7",
      "x-ratelimit-remaining": "6",
      "x-ratelimit-reset": "1",
    });
  });
});
