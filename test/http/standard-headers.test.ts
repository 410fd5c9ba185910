import { fixedWindow, gcra, memoryStore, slidingLog, tokenBucket } from "@headgate/core";
import { expect, test } from "vitest";
import { describeFrameworks } from "./support/describe-frameworks.ts";
import { manualClock } from "./support/manual-clock.ts";
import { parseFields } from "./support/rate-limit-fields.ts";
import { secondsLeft } from "./support/seconds-left.ts";

describeFrameworks(({ serve }) => {
  test("RateLimit-Policy lists quota and window of every limit in the order of the policy", async () => {
    const limits = [
      fixedWindow({ limit: 100, window: "1m", name: "burst" }),
      slidingLog({ limit: 1_000, window: "1d", name: "daily" }),
    ];
    const { sendRequest } = await serve({ limits: { limits } });
    const { headers } = await sendRequest();
    expect(headers["ratelimit-policy"]).toBe('"burst";q=100;w=60, "daily";q=1000;w=86400');
    expect(parseFields(headers["ratelimit-policy"])).toEqual([
      { name: "burst", q: 100, w: 60 },
      { name: "daily", q: 1_000, w: 86_400 },
    ]);
  });

  test("RateLimit lists the remaining units of each limit, and the seconds until they grow", async () => {
    const clock = manualClock();
    const store = memoryStore({ clock: clock.now });
    const limits = [
      gcra({ limit: 60, window: "1m", name: "steady" }),
      fixedWindow({ limit: 100, window: "1h", name: "hourly" }),
      tokenBucket({ capacity: 20, refill: 1, every: "90s", name: "bucket" }),
    ];
    const { sendRequest } = await serve({ limits: { name: "api", limits, store } });
    await sendRequest();
    clock.advance(400);
    const { headers } = await sendRequest();
    expect(headers["ratelimit"]).toMatch(/^"steady";r=58;t=1, /);
    expect(parseFields(headers["ratelimit"])).toEqual([
      { name: "steady", r: 58, t: 1 },
      { name: "hourly", r: 98, t: 3_600 },
      { name: "bucket", r: 18, t: 90 },
    ]);
  });

  test("quota and window match if the burst differs from the limit", async () => {
    const limits = [
      gcra({ limit: 100, window: "1m", burst: 20, name: "burst" }),
      tokenBucket({ capacity: 10, refill: 1, every: "6s", name: "bucket" }),
    ];
    const { sendRequest } = await serve({ limits: { limits } });
    expect(parseFields((await sendRequest()).headers["ratelimit-policy"])).toEqual([
      { name: "burst", q: 20, w: 12 },
      { name: "bucket", q: 10, w: 60 },
    ]);
  });

  test("a window below a second is left out of RateLimit-Policy", async () => {
    const limits = [
      gcra({ limit: 5, window: "250ms", name: "short" }),
      gcra({ limit: 5, window: 1_500, name: "odd" }),
    ];
    const { sendRequest } = await serve({ limits: { limits } });
    const { headers } = await sendRequest();
    expect(parseFields(headers["ratelimit-policy"])).toEqual([
      { name: "short", q: 5 },
      { name: "odd", q: 5, w: 2 },
    ]);
    expect(parseFields(headers["ratelimit"])[0]).toEqual({ name: "short", r: 4, t: 1 });
  });

  test("quotes in the name of a limit are escaped", async () => {
    const name = 'the "short" one \\ per;minute, \\"';
    const { sendRequest } = await serve({
      limits: { limits: gcra({ limit: 5, window: "1m", name }) },
    });
    const { headers } = await sendRequest();
    expect(parseFields(headers["ratelimit-policy"])).toEqual([{ name, q: 5, w: 60 }]);
    expect(parseFields(headers["ratelimit"])).toEqual([{ name, r: 4, t: 12 }]);
  });

  test("limits without a name are named after their quota and window", async () => {
    const limits = [gcra({ limit: 5, window: "1m" }), gcra({ limit: 9, window: "7d" })];
    const { sendRequest } = await serve({ limits: { limits } });
    const names = parseFields((await sendRequest()).headers["ratelimit-policy"]).map(
      ({ name }) => name,
    );
    expect(names).toEqual(["5-per-1m", "9-per-7d"]);
  });

  test("a denial lists every limit as it stands, because it charged none", async () => {
    const limits = [
      gcra({ limit: 1, window: "1h", name: "tight" }),
      fixedWindow({ limit: 10, window: "1h", name: "loose" }),
    ];
    const { sendRequest } = await serve({ limits: { limits } });
    await sendRequest();
    await sendRequest();
    const { status, headers } = await sendRequest();
    expect(status).toBe(429);
    expect(parseFields(headers["ratelimit"])).toMatchObject([
      { name: "tight", r: 0, t: secondsLeft(3_600) },
      { name: "loose", r: 9 },
    ]);
    expect(parseFields(headers["ratelimit-policy"])).toHaveLength(2);
  });
});
