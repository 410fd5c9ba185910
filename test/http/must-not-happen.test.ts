import { fixedWindow, gcra, memoryStore, slidingLog } from "@headgate/core";
import { expect, test } from "vitest";
import { describeFrameworks } from "./support/describe-frameworks.ts";
import { manualClock } from "./support/manual-clock.ts";

/*
 * Mistakes that other limiters make, each tried on ours. What else they get wrong is among the tests of the option or
 * header that it concerns.
 */

describeFrameworks(({ serve }) => {
  test("a client that keeps retrying is never allowed again, because its denials are charged", async () => {
    const clock = manualClock();
    const store = memoryStore({ clock: clock.now });
    const limits = slidingLog({ limit: 5, window: "10s" });
    const { sendRequest } = await serve({ limits: { name: "api", limits, store } });
    const admitted: number[] = [];
    for (let second = 0; second < 30; second++) {
      if ((await sendRequest()).status === 200) admitted.push(second);
      clock.advance(1_000);
    }
    expect(admitted).toEqual([0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24]);
  });

  test("a denial by one of three limits charges the other two", async () => {
    const { sendRequest } = await serve({
      limits: {
        limits: [
          fixedWindow({ limit: 1, window: "1h", name: "second" }),
          fixedWindow({ limit: 100, window: "1h", name: "hour" }),
          fixedWindow({ limit: 500, window: "1d", name: "day" }),
        ],
      },
    });
    for (let i = 0; i < 50; i++) await sendRequest();
    expect((await sendRequest()).headers["ratelimit"]).toMatch(/"hour";r=99;.*"day";r=499;/);
  });

  test("limiters that look alike share one counter, so five searches deny the first login", async () => {
    const limits = gcra({ limit: 5, window: "1h" });
    const { sendRequest } = await serve({
      routes: { "/search": { limits: { limits } }, "/login": { limits: { limits } } },
    });
    for (let i = 0; i < 6; i++) await sendRequest("/search");
    expect((await sendRequest("/search")).status).toBe(429);
    expect((await sendRequest("/login")).status).toBe(200);
  });

  test("a stricter limiter of a route is skipped because the global one has already run", async () => {
    const { sendRequest } = await serve({
      limits: { limits: gcra({ limit: 100, window: "1h" }) },
      routes: { "/login": { limits: { limits: gcra({ limit: 2, window: "1h" }) } } },
    });
    for (const status of [200, 200, 429]) expect((await sendRequest("/login")).status).toBe(status);
  });

  test("a window of 30 days never ends, because a timer overflows", async () => {
    const { sendRequest } = await serve({
      limits: { limits: fixedWindow({ limit: 1, window: "30d" }) },
    });
    expect((await sendRequest()).status).toBe(200);
    await new Promise(setImmediate);
    const denied = await sendRequest();
    expect(denied.status).toBe(429);
    expect(Number(denied.headers["retry-after"])).toBeGreaterThan(30 * 86_400 - 60);
  });

  test("a window below a second becomes 0", async () => {
    const clock = manualClock();
    const store = memoryStore({ clock: clock.now });
    const limits = fixedWindow({ limit: 1, window: "500ms" });
    const { sendRequest } = await serve({ limits: { name: "api", limits, store } });
    expect((await sendRequest()).status).toBe(200);
    clock.advance(499);
    expect((await sendRequest()).status).toBe(429);
    clock.advance(1);
    expect((await sendRequest()).status).toBe(200);
  });

  test("an IPv6 address can end in any four bytes, and each choice is a new bucket", async () => {
    const { sendRequest } = await serve({
      limits: { limits: gcra({ limit: 1, window: "1h" }) },
      trustProxy: "loopback",
    });
    const from = (address: string) => sendRequest("/", { headers: { "x-forwarded-for": address } });
    expect((await from("2001:db8::1.2.3.4")).status).toBe(200);
    expect((await from("2001:db8::5.6.7.8")).status).toBe(429);
  });

  test("concurrent requests exceed the limit", async () => {
    const { sendRequest } = await serve({
      limits: { limits: slidingLog({ limit: 10, window: "1h" }) },
    });
    const answers = await Promise.all(Array.from({ length: 100 }, () => sendRequest()));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
  });

  test("the machine's clock decides although the store has a clock", async () => {
    const clock = manualClock();
    const store = memoryStore({ clock: clock.now });
    const limits = fixedWindow({ limit: 1, window: 1 });
    const { sendRequest } = await serve({ limits: { name: "api", limits, store } });
    expect((await sendRequest()).status).toBe(200);
    expect((await sendRequest()).status).toBe(429);
  });
});
