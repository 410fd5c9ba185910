import { connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { Limiter, LimiterOptions, Store } from "@headgate/core";
import { createLimiter, fixedWindow, gcra, memoryStore } from "@headgate/core";
import { createHttpGuard } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { byTier, perRequest } from "@headgate/express";
import { Redis } from "ioredis";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { deferred } from "../support/deferred.ts";
import { describeAdapters } from "../support/describe-frameworks.ts";
import { eventually } from "../support/eventually.ts";
import type { RunningSite, SharedOptions } from "../support/framework.ts";
import { manualClock } from "../support/manual-clock.ts";
import { uniquePrefix, useRedis } from "../support/redis-client.ts";
import { failure } from "./stores.ts";

const MINUTE_MS = 60_000;

const guarded = fixedWindow({ limit: 10, window: "1d", block: ["1m", "10m", "1h"], name: "tries" });

/** Without a deny cache, whose second does not follow the clock of a test. */
const options = { name: "login", storeTimeout: "1m", denyCache: false } as const;

const redis = useRedis();

/** A login that is right, one that is wrong, and one whose answer waits. */
function routesWith(held: Promise<number> = Promise.resolve(200)) {
  return {
    "/right": {},
    "/wrong": {
      handle() {
        throw failure(401);
      },
    },
    "/slow": {
      async handle() {
        const status = await held;
        if (status >= 400) throw failure(status);
        return "over";
      },
    },
  };
}

/** A client may have read an answer before its server is told that it was sent. */
async function isSettled(limiter: Limiter): Promise<void> {
  for (let i = 0; i < 5; i += 1) await setImmediate();
  await limiter.peek("127.0.0.1", { cost: 0 });
}

/** A limiter of the same counters. What settles is known to the server then: else it is sent again, behind what looks at it. */
async function limiterOn(store: Store, more: Partial<LimiterOptions> = {}): Promise<Limiter> {
  const made = { ...options, limits: guarded, store, blockOn: "settle", ...more } as const;
  const limiter = createLimiter(made as LimiterOptions);
  const charged = [await limiter.consume("nobody"), await limiter.consume("nobody", { cost: 2 })];
  for (const [i, decision] of charged.entries()) await limiter.settle(decision, i);
  return limiter;
}

describeAdapters(({ serve }) => {
  describe.each(["memory", "Redis"])("with counts in %s", (place) => {
    const storeOn = (clock: () => number): Store =>
      place === "Redis"
        ? redisStore(redis, { prefix: uniquePrefix(), clock })
        : memoryStore({ clock });

    async function start(held?: Promise<number>, more: Partial<SharedOptions> = {}) {
      const clock = manualClock();
      const store = storeOn(clock.now);
      const limiter = await limiterOn(store);
      const limits = { ...options, limits: guarded, store, count: "failed", ...more } as const;
      const site = await serve({ limits, routes: routesWith(held) });
      return { ...site, clock, limiter };
    }

    async function statuses(
      { sendRequest }: RunningSite,
      path: string,
      times: number,
    ): Promise<number[]> {
      const seen: number[] = [];
      for (let i = 0; i < times; i += 1) seen.push((await sendRequest(path)).status);
      return [...new Set(seen)];
    }

    test("ten failed logins block the client, longer each time, while good logins cost nothing and reset it", async () => {
      const { clock, limiter, ...site } = await start();
      for (const seconds of [60, 600, 3_600, 3_600]) {
        for (let i = 0; i < 10; i += 1) {
          expect(await statuses(site, "/right", 2)).toEqual([200]);
          await isSettled(limiter);
          expect(await statuses(site, "/wrong", 1)).toEqual([401]);
          await isSettled(limiter);
        }
        const denied = await site.sendRequest("/right");
        expect(denied.status).toBe(429);
        expect(denied.headers).toMatchObject({
          "retry-after": `${seconds}`,
          "x-ratelimit-remaining": "0",
          ratelimit: `"tries";r=0;t=${seconds}`,
          "cache-control": "no-store",
        });
        expect(denied.json()).toMatchObject({ status: 429, "violated-policies": ["tries"] });
        clock.advance(seconds * 1_000 - 1);
        expect(await statuses(site, "/wrong", 1)).toEqual([429]);
        clock.advance(1);
      }
    });

    test("hundreds of failing logins at once get ten responses, and set one block after all ten have failed", async () => {
      const held = deferred<number>();
      const { clock, limiter, ...site } = await start(held.promise);
      const answers = Array.from({ length: 300 }, () => site.sendRequest("/slow"));
      await eventually(() => expect(site.handled).toHaveLength(10));
      const denied = await Promise.all(
        Array.from({ length: 20 }, () => site.sendRequest("/right")),
      );
      for (const { status, headers } of denied) {
        expect([status, headers["retry-after"]]).toEqual([429, "86400"]);
      }
      expect(await limiter.peek("127.0.0.1", { cost: 0 })).toMatchObject({ blocked: false });
      held.resolve(401);
      const all = (await Promise.all(answers)).map(({ status }) => status);
      expect(all.filter((status) => status === 401)).toHaveLength(10);
      expect(all.filter((status) => status === 429)).toHaveLength(290);
      await isSettled(limiter);
      const blocked = await site.sendRequest("/right");
      expect([blocked.status, blocked.headers["retry-after"]]).toEqual([429, "60"]);
      clock.advance(MINUTE_MS);
      expect(await statuses(site, "/wrong", 10)).toEqual([401]);
      await isSettled(limiter);
      expect((await site.sendRequest("/right")).headers["retry-after"]).toBe("600");
    });

    test("good logins at once are denied above the limit, and set no block", async () => {
      const held = deferred<number>();
      const { limiter, clock: _, ...site } = await start(held.promise);
      const answers = Array.from({ length: 10 }, () => site.sendRequest("/slow"));
      await eventually(() => expect(site.handled).toHaveLength(10));
      const denied = await Promise.all(Array.from({ length: 40 }, () => site.sendRequest("/slow")));
      for (const { status, headers } of denied) {
        expect([status, headers["retry-after"]]).toEqual([429, "86400"]);
      }
      held.resolve(200);
      for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
      await isSettled(limiter);
      const unused = { blocked: false, remaining: 10 };
      expect(await limiter.peek("127.0.0.1", { cost: 0 })).toMatchObject(unused);
    });

    test("a count function returns the part of the charge that stays, and if it fails the whole charge stays", async () => {
      const results: (boolean | number | string)[] = [4, false, true, 0, "nothing", 4];
      const count = () => results.shift() as number;
      const { limiter, clock: _, ...site } = await start(undefined, { count });
      for (const left of [6, 6, 5, 5, 4, 10]) {
        await site.sendRequest("/right");
        await isSettled(limiter);
        await eventually(async () => {
          const { blocked, remaining } = await limiter.peek("127.0.0.1", { cost: 0 });
          expect(blocked ? 10 : remaining).toBe(left);
        });
      }
      expect((await site.sendRequest("/right")).headers["retry-after"]).toBe("60");
    });

    test("a response whose client does not wait for it stays charged", async () => {
      const held = deferred<number>();
      const { limiter, clock: _, ...site } = await start(held.promise);
      for (let i = 0; i < 10; i += 1) {
        const socket = connect(site.port, "127.0.0.1");
        socket.write("GET /slow HTTP/1.1\r\nHost: here\r\n\r\n");
        await eventually(() => expect(site.handled).toHaveLength(i + 1));
        socket.destroy();
      }
      await eventually(async () => {
        expect(await limiter.peek("127.0.0.1", { cost: 0 })).toMatchObject({ blocked: true });
      });
      held.resolve(200);
    });

    test("settling manually takes precedence over count, and a cost by name stays charged by name", async () => {
      const clock = manualClock();
      const store = storeOn(clock.now);
      const limits = [guarded, gcra({ limit: 100, window: "1h", name: "calm" })];
      const limiter = createLimiter({ ...options, limits, store, blockOn: "settle" });
      const cost = { tries: 5, calm: 2 };
      for (const units of [{}, { tries: 0 }]) {
        await limiter.settle(await limiter.consume("nobody", { cost }), units);
      }
      const site = await serve({
        limits: { limiter, count: "failed", cost },
        routes: routesWith(),
      });
      const look = async () => {
        await isSettled(limiter);
        return (await limiter.peek("127.0.0.1", { cost: 0 })).limits.map(
          ({ remaining }) => remaining,
        );
      };
      await site.sendRequest("/right");
      expect(await look()).toEqual([10, 100]);
      await site.sendRequest("/wrong");
      expect(await look()).toEqual([5, 98]);
      await site.sendRequest("/wrong");
      await look();
      expect((await site.sendRequest("/right")).headers["retry-after"]).toBe("60");
    });

    test('a limiter with blockOn: "settle" confirms every charge if there is no count', async () => {
      const clock = manualClock();
      const limiter = await limiterOn(storeOn(clock.now));
      const site = await serve({ limits: { limiter }, routes: routesWith() });
      for (let i = 0; i < 10; i += 1) {
        expect((await site.sendRequest("/right")).status).toBe(200);
        await isSettled(limiter);
      }
      expect((await site.sendRequest("/right")).headers["retry-after"]).toBe("60");
    });

    test("if another mount of the limiter has a count, that one settles", async () => {
      const clock = manualClock();
      const limiter = await limiterOn(storeOn(clock.now));
      const site = await serve({
        limits: [{ limiter }, { limiter, count: "failed" }],
        routes: routesWith(),
      });
      for (let i = 0; i < 12; i += 1) {
        expect((await site.sendRequest("/right")).status).toBe(200);
        await isSettled(limiter);
      }
      expect(await limiter.peek("127.0.0.1", { cost: 0 })).toMatchObject({ remaining: 10 });
    });

    test("each tier has its own blocks, and other limits continue its count", async () => {
      const clock = manualClock();
      let plan: "free" | "paid" = "free";
      const free = { ...guarded, limit: 1 };
      const shared = { ...options, count: "failed" } as const;
      const tiers = byTier({ free, paid: guarded }, () => plan) as never;
      const numbers = perRequest(free, () => (plan === "free" ? free : guarded)) as never;
      const [ofTiers, ofNumbers] = [storeOn(clock.now), storeOn(clock.now)];
      const known = await limiterOn(storeOn(clock.now));
      const site = await serve({
        routes: {
          "/tier": {
            ...routesWith()["/wrong"],
            limits: { ...shared, limits: tiers, store: ofTiers },
          },
          "/request": {
            ...routesWith()["/wrong"],
            limits: { ...shared, name: "numbers", limits: numbers, store: ofNumbers },
          },
        },
      });
      const seen = async (path: string) => {
        const statuses: number[] = [];
        for (const next of ["free", "free", "paid"] as const) {
          plan = next;
          statuses.push((await site.sendRequest(path)).status);
          await isSettled(known);
        }
        return statuses;
      };
      expect(await seen("/tier")).toEqual([401, 429, 401]);
      expect(await seen("/request")).toEqual([401, 429, 429]);
    });

    test("shadow mode sets no block", async () => {
      const {
        limiter: _,
        clock: __,
        ...site
      } = await start(undefined, {
        shadow: true,
        name: "shadow",
      });
      expect(await statuses(site, "/wrong", 12)).toEqual([401]);
    });
  });

  test("eight clients of one Redis set one block", async () => {
    const clock = manualClock();
    const prefix = uniquePrefix();
    const clients = Array.from({ length: 8 }, () => new Redis(inject("redisSocket")));
    onTestFinished(() => {
      for (const client of clients) client.disconnect();
    });
    const sites = await Promise.all(
      clients.map((client) =>
        serve({
          limits: {
            ...options,
            limits: guarded,
            store: redisStore(client, { prefix, clock: clock.now }),
            count: "failed",
          },
          routes: routesWith(),
        }),
      ),
    );
    for (const seconds of ["60", "600"]) {
      const answers = await Promise.all(
        sites.flatMap((site) => Array.from({ length: 25 }, () => site.sendRequest("/wrong"))),
      );
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(10);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(190);
      await eventually(async () => {
        for (const site of sites) {
          expect((await site.sendRequest("/right")).headers["retry-after"]).toBe(seconds);
        }
      });
      clock.advance(Number(seconds) * 1_000);
    }
  });

  describe("rejected combinations of count and block", () => {
    const refused = (message: string) => ({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining(message),
    });

    test.each(["failed", "succeeded", () => true] as const)(
      "an algorithm that cannot block on settle is rejected, with count: %s",
      async (count) => {
        const limits = gcra({ limit: 9, window: "1m", block: "1h", name: "tries" });
        for (const wrong of [
          limits,
          [{ ...guarded, name: "others" }, limits],
          byTier({ free: limits }, () => "free") as never,
          perRequest(limits, () => null) as never,
        ]) {
          await expect(serve({ limits: { limits: wrong, count } })).rejects.toMatchObject(
            refused('the limit "tries" is a gcra'),
          );
        }
        await serve({ limits: { limits, count: "all" } });
      },
    );

    test("limits that block after several denials are accepted with every algorithm", async () => {
      const limits = gcra({ limit: 2, window: "1d", block: { after: 3, for: "9d" } });
      for (const given of [{ limits }, { limiter: createLimiter({ limits }) }]) {
        const site = await serve({ limits: { ...given, count: "failed" }, routes: routesWith() });
        const waits: (number | undefined)[] = [];
        for (let i = 0; i < 6; i += 1) {
          const { status, headers } = await site.sendRequest("/wrong");
          waits.push(
            status === 429 ? Math.ceil(Number(headers["retry-after"]) / 86_400) : undefined,
          );
        }
        expect(waits).toEqual([undefined, undefined, 1, 1, 9, 9]);
      }
    });

    test("count is rejected for a limiter whose denials block", async () => {
      const limiter = createLimiter({ limits: [gcra({ limit: 9, window: "1m" }), guarded] });
      await expect(serve({ limits: { limiter, count: "failed" } })).rejects.toMatchObject(
        refused('create the limiter with blockOn: "settle"'),
      );
      await serve({ limits: { limiter, count: "all" } });
    });
  });
});

test('an adapter that does not watch responses rejects a limiter with blockOn: "settle"', () => {
  const limiter = createLimiter({ limits: guarded, blockOn: "settle" });
  expect(() => createHttpGuard("limited", { limiter })).toThrow(
    expect.objectContaining({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining(
        'it cannot settle the charges of a limiter with blockOn: "settle"',
      ),
    }),
  );
});
