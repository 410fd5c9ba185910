import { fixedWindow, gcra, memoryStore } from "@headgate/core";
import { byHeader, byTier, perRequest } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { AnyRequest } from "./support/framework.ts";
import { useLosableRedis } from "./support/losable-redis.ts";
import { manualClock } from "./support/manual-clock.ts";
import { uniquePrefix, useRedis } from "./support/redis-client.ts";

const DAY = 86_400;
/** From when the tests' clock starts, the 15th of January 2027 at 8:00 UTC, to the end of the month in Berlin. */
const LEFT = 16 * DAY + 15 * 3_600;

const monthly = (limit: number) =>
  fixedWindow({ limit, window: "month", timeZone: "Europe/Berlin", name: "quota" });

const as = (user: string, plan = "") => ({ headers: { "x-user": user, "x-plan": plan } });
const planOf = ({ headers }: AnyRequest) => Number(headers["x-plan"]);

describeAdapters(({ serve }) => {
  const redis = useRedis();
  const losable = useLosableRedis();
  const clock = manualClock();
  const stores = {
    memory: (now: () => number) => memoryStore({ clock: now }),
    Redis: (now: () => number) => redisStore(redis, { clock: now, prefix: uniquePrefix() }),
  };

  test.each(Object.entries(stores))(
    "headers report the current month in %s",
    async (_, storeOn) => {
      const clock = manualClock();
      const { sendRequest } = await serve({
        limits: {
          name: "api",
          store: storeOn(clock.now),
          storeTimeout: "10s",
          limits: [
            fixedWindow({ limit: 2, window: "month", timeZone: "Europe/Berlin" }),
            gcra({ limit: 10, window: "1h", name: "pace" }),
          ],
        },
      });
      const first = await sendRequest();
      expect(first.headers).toMatchObject({
        "x-ratelimit-limit": "2",
        "x-ratelimit-remaining": "1",
        "x-ratelimit-reset": String(LEFT),
        "ratelimit-policy": `"2-per-month";q=2;w=${31 * DAY}, "pace";q=10;w=3600`,
        ratelimit: `"2-per-month";r=1;t=${LEFT}, "pace";r=9;t=360`,
      });
      await sendRequest();
      clock.advance(1_000);
      for (let i = 0; i < 2; i += 1) {
        const denied = await sendRequest();
        expect(denied.status).toBe(429);
        expect(denied.headers).toMatchObject({
          "retry-after": String(LEFT - 1),
          "x-ratelimit-reset": String(LEFT - 1),
          "ratelimit-policy": first.headers["ratelimit-policy"],
        });
        expect(denied.json()).toMatchObject({ "violated-policies": ["2-per-month"] });
      }
      clock.advance((LEFT - 1) * 1_000 - 1);
      expect((await sendRequest()).status).toBe(429);
      clock.advance(1);
      const february = await sendRequest();
      expect(february.status).toBe(200);
      expect(february.headers).toMatchObject({
        "x-ratelimit-remaining": "1",
        "x-ratelimit-reset": String(28 * DAY),
        "ratelimit-policy": `"2-per-month";q=2;w=${28 * DAY}, "pace";q=10;w=3600`,
      });
    },
  );

  test("by the server's clock, a month ends on time", async () => {
    const store = redisStore(redis, { prefix: uniquePrefix() });
    const limits = fixedWindow({ limit: 1, window: "month" });
    const { sendRequest } = await serve({
      limits: { name: "api", store, storeTimeout: "10s", limits },
    });
    expect((await sendRequest()).status).toBe(200);
    const denied = await sendRequest();
    expect(denied.status).toBe(429);
    const now = new Date();
    const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
    const left = (next - now.getTime()) / 1_000;
    expect(Math.abs(Number(denied.headers["retry-after"]) - left)).toBeLessThan(30);
  });

  test("a request's own limits continue the count of the month", async () => {
    const limits = perRequest(monthly(3), (request: AnyRequest) => monthly(planOf(request)));
    const { sendRequest } = await serve({
      limits: {
        name: "api",
        store: memoryStore({ clock: clock.now }),
        limits,
        key: byHeader("x-user"),
      },
    });
    for (const remaining of ["2", "1", "0"]) {
      expect((await sendRequest("/", as("ann", "3"))).headers["x-ratelimit-remaining"]).toBe(
        remaining,
      );
    }
    expect((await sendRequest("/", as("ann", "3"))).status).toBe(429);
    const { headers } = await sendRequest("/", as("ann", "10"));
    expect(headers).toMatchObject({
      "x-ratelimit-remaining": "6",
      "ratelimit-policy": `"quota";q=10;w=${31 * DAY}`,
      ratelimit: `"quota";r=6;t=${LEFT}`,
    });
  });

  test("a request's own time zone has a separate counter", async () => {
    const elsewhere = { ...monthly(1), timeZone: "Asia/Tokyo" };
    const limits = perRequest(monthly(1), ({ headers }: AnyRequest) =>
      headers["x-zone"] === undefined ? monthly(1) : elsewhere,
    );
    const { sendRequest } = await serve({ limits: { limits } });
    const tokyo = { headers: { "x-zone": "Asia/Tokyo" } };
    const statuses = [
      await sendRequest(),
      await sendRequest(),
      await sendRequest("/", tokyo),
      await sendRequest("/", tokyo),
    ];
    expect(statuses.map(({ status }) => status)).toEqual([200, 429, 200, 429]);
  });

  test("tiers can have calendar windows of their own", async () => {
    const { sendRequest } = await serve({
      limits: {
        name: "api",
        store: memoryStore({ clock: clock.now }),
        limits: byTier(
          {
            berlin: monthly(2),
            tokyo: fixedWindow({ limit: 2, window: "month", timeZone: "Asia/Tokyo" }),
            daily: fixedWindow({ limit: 2, window: "1d" }),
          },
          ({ headers }: AnyRequest) => headers["x-plan"] as "berlin",
        ),
        key: byHeader("x-user"),
      },
    });
    const reset = async (plan: string) => {
      const { headers } = await sendRequest("/", as("ann", plan));
      return [headers["x-ratelimit-reset"], headers["x-ratelimit-remaining"]];
    };
    expect(await reset("berlin")).toEqual([String(LEFT), "1"]);
    expect(await reset("tokyo")).toEqual([String(LEFT - 8 * 3_600), "1"]);
    expect(await reset("daily")).toEqual([String(DAY), "1"]);
  });

  test("calendar windows are counted locally while Redis is unavailable", async () => {
    const store = await losable.openStore();
    const limits = fixedWindow({ limit: 2, window: "month" });
    const { sendRequest } = await serve({ limits: { name: "api", store, limits } });
    losable.lose();
    const statuses: number[] = [];
    for (let i = 0; i < 3; i += 1) statuses.push((await sendRequest()).status);
    expect(statuses).toEqual([200, 200, 429]);
  });
});
